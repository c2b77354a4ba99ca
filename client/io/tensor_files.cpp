// Between files and devices. The formats themselves know bytes and Specs only.
#include "client/io/tensor_files.h"

#include <utility>
#include <vector>

#include "client/io/file_error.h"
#include "client/io/idx_format.h"
#include "client/io/numpy_files.h"
#include "client/io/safetensors_file.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

namespace {

/// "save: PATH" before every error of one call.
class Call {
 public:
  Call(std::string_view function, const std::filesystem::path& path)
      : prefix_(str_cat(function, ": ", path.string())) {}

  void check(const absl::Status& status) const { throw_if_error(prefixed(prefix_, status)); }
  template <typename T>
  T value(absl::StatusOr<T> result) const {
    check(result.status());
    return *std::move(result);
  }
  [[noreturn]] void fail(std::string_view name, const Error& error) const {
    const std::string tensor = name.empty() ? "" : str_cat(": tensor ", in_quotes(name));
    throw Error(prefixed(prefix_ + tensor, error.status()));
  }
  /// `data` on the device; a refusal names the tensor, if it has a name.
  Tensor place(std::string_view name, dispatch::HostData data, const Device& device) const {
    try {
      return from_host(std::move(data), device);
    } catch (const Error& error) {
      fail(name, error);
    }
  }
  /// The bytes of all tensors. Every read is asked for before the first is waited for.
  std::vector<NamedData> read_all(const TensorMap& tensors) const {
    std::vector<ReadFuture> reads;
    std::vector<NamedData> result;
    for (const auto& [name, tensor] : tensors) reads.push_back(start(name, tensor));
    size_t index = 0;
    for (const auto& [name, tensor] : tensors) result.push_back({name, wait(name, reads[index++])});
    return result;
  }
  ReadFuture start(std::string_view name, const Tensor& tensor) const {
    try {
      return tensor.read_async();
    } catch (const Error& error) {
      fail(name, error);
    }
  }
  dispatch::HostData wait(std::string_view name, const ReadFuture& read) const {
    try {
      return read.get();
    } catch (const Error& error) {
      fail(name, error);
    }
  }

 private:
  std::string prefix_;
};

}  // namespace

void save(const std::filesystem::path& path, const TensorMap& tensors, const Metadata& metadata) {
  const Call call("save", path);
  call.check(write_safetensors(path, call.read_all(tensors), metadata));
}

TensorMap load(const std::filesystem::path& path, const Device& device) {
  const Call call("load", path);
  const SafetensorsFile file = call.value(SafetensorsFile::open(path));
  TensorMap tensors;
  for (const SafetensorsHeader::Tensor& tensor : file.tensors()) {
    dispatch::HostData data = call.value(file.read(tensor));
    tensors.add(tensor.name, call.place(tensor.name, std::move(data), device));
  }
  return tensors;
}

Metadata load_metadata(const std::filesystem::path& path) {
  return Call("load_metadata", path).value(SafetensorsFile::open(path)).metadata();
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const Call call("save_npy", path);
  call.check(write_npy_file(path, call.wait("", call.start("", tensor))));
}

Tensor load_npy(const std::filesystem::path& path, const Device& device) {
  const Call call("load_npy", path);
  return call.place("", call.value(read_npy_file(path)), device);
}

void save_npz(const std::filesystem::path& path, const TensorMap& tensors,
              const NpzOptions& options) {
  const Call call("save_npz", path);
  call.check(write_npz(path, call.read_all(tensors), options.compress));
}

TensorMap load_npz(const std::filesystem::path& path, const Device& device) {
  const Call call("load_npz", path);
  const NpzFile file = call.value(NpzFile::open(path));
  TensorMap tensors;
  for (size_t index = 0; index < file.names().size(); ++index) {
    dispatch::HostData data = call.value(file.read(index));
    const std::string& name = file.names()[index];
    tensors.add(name, call.place(name, std::move(data), device));
  }
  return tensors;
}

Tensor load_idx(const std::filesystem::path& path, const Device& device) {
  const Call call("load_idx", path);
  return call.place("", call.value(read_idx(path)), device);
}

}  // namespace remora::io
