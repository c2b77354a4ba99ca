#include "tests/opinfo/safetensors.h"

#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include "absl/strings/ascii.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/opinfo/file_bytes.h"
#include "tests/opinfo/limits.h"

namespace remora::opinfo {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian");

constexpr size_t kLengthBytes = 8;

absl::Status bad(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError(str_cat("safetensors: \"", name, "\": ", what));
}

/// A JSON integer in [0, 2^63), if it is one.
std::optional<int64_t> as_size(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<uint64_t>();
  if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(number);
}

absl::StatusOr<Spec> parse_spec(std::string_view name, const Json& entry) {
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return bad(name, "has no dtype");
  const auto& text = dtype->get_ref<const std::string&>();
  const std::optional<DType> known = dtype_from_name(absl::AsciiStrToLower(text));
  if (!known) return bad(name, str_cat("unknown dtype \"", text, "\""));
  const auto sizes = entry.find("shape");
  if (sizes == entry.end() || !sizes->is_array()) return bad(name, "has no shape");
  Dims dims;
  for (const Json& size : *sizes) {
    const std::optional<int64_t> number = as_size(size);
    if (!number) return bad(name, "a size of its shape is not a non-negative integer");
    dims.push_back(*number);
  }
  Spec spec{*known, Shape(std::move(dims))};
  if (absl::Status status = check_shape(spec.shape); !status.ok()) {
    return bad(name, std::string(status.message()));
  }
  return spec;
}

}  // namespace

absl::StatusOr<Safetensors> Safetensors::read(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(std::string bytes, read_file(path, kMaxTensorFileBytes));
  return parse(std::move(bytes));
}

absl::StatusOr<Safetensors> Safetensors::parse(std::string bytes) {
  uint64_t header_bytes = 0;
  if (bytes.size() < kLengthBytes) return bad("header", "the file is shorter than 8 bytes");
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  if (header_bytes > kMaxTensorHeaderBytes || header_bytes > bytes.size() - kLengthBytes) {
    return bad("header", str_cat("claims ", header_bytes, " bytes in a file of ", bytes.size()));
  }
  const size_t data_begin = kLengthBytes + static_cast<size_t>(header_bytes);
  const size_t data_bytes = bytes.size() - data_begin;
  const std::string_view header = std::string_view(bytes).substr(kLengthBytes, header_bytes);
  const Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad("header", "is not a JSON object");
  if (json.size() > kMaxTensors) return bad("header", str_cat("names ", json.size(), " tensors"));

  Safetensors file;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    if (!entry.is_object()) return bad(name, "is not a JSON object");
    REMORA_ASSIGN_OR_RETURN(Spec spec, parse_spec(name, entry));
    const auto offsets = entry.find("data_offsets");
    if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2) {
      return bad(name, "data_offsets is not a pair");
    }
    const std::optional<int64_t> begin = as_size((*offsets)[0]);
    const std::optional<int64_t> end = as_size((*offsets)[1]);
    if (!begin || !end || *begin > *end || static_cast<uint64_t>(*end) > data_bytes) {
      return bad(name, str_cat("data_offsets lie outside the ", data_bytes, " bytes of data"));
    }
    if (*end - *begin != spec.byte_size()) {
      return bad(name, str_cat("has ", *end - *begin, " bytes, but ", spec.str(), " takes ",
                               spec.byte_size()));
    }
    file.entries_.emplace(name, Entry{std::move(spec), data_begin + static_cast<size_t>(*begin)});
  }
  file.bytes_ = std::move(bytes);
  return file;
}

const Spec* Safetensors::find(std::string_view name) const {
  const auto entry = entries_.find(std::string(name));
  return entry == entries_.end() ? nullptr : &entry->second.spec;
}

absl::StatusOr<dispatch::HostData> Safetensors::load(std::string_view name) const {
  const auto entry = entries_.find(std::string(name));
  if (entry == entries_.end()) {
    return absl::NotFoundError(str_cat("safetensors: there is no tensor \"", name, "\""));
  }
  const auto& [spec, begin] = entry->second;
  const std::span<const char> bytes(bytes_.data() + begin, static_cast<size_t>(spec.byte_size()));
  return dispatch::HostData::copy_of(spec, std::as_bytes(bytes));
}

}  // namespace remora::opinfo
