#include "client/io/safetensors_file.h"

#include <bit>

#include "client/io/file_error.h"
#include "client/io/limits.h"
#include "client/io/output_file.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little-endian");

absl::StatusOr<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  uint64_t length = 0;
  constexpr int64_t kLengthBytes = sizeof(length);
  if (file.size_bytes() < kLengthBytes) {
    return malformed(str_cat("the file has ", file.size_bytes(),
                             " bytes; the length of the header alone takes ", kLengthBytes));
  }
  REMORA_RETURN_IF_ERROR(file.read(0, std::as_writable_bytes(std::span(&length, 1))));
  const int64_t rest = file.size_bytes() - kLengthBytes;
  if (length > static_cast<uint64_t>(rest) || length > kMaxSafetensorsHeaderBytes) {
    return malformed(str_cat("the header claims ", length, " bytes; ", rest,
                             " follow, and the format allows ", kMaxSafetensorsHeaderBytes));
  }
  std::string json(length, '\0');
  REMORA_RETURN_IF_ERROR(file.read(kLengthBytes, std::as_writable_bytes(std::span(json))));
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  REMORA_ASSIGN_OR_RETURN(SafetensorsHeader header,
                          parse_safetensors_header(json, file.size_bytes() - data_begin));
  return SafetensorsFile(std::move(file), std::move(header), data_begin);
}

const SafetensorsHeader::Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto place = header_.places.find(std::string(name));
  return place == header_.places.end() ? nullptr : &header_.tensors[place->second];
}

absl::StatusOr<dispatch::HostData> SafetensorsFile::read(
    const SafetensorsHeader::Tensor& tensor) const {
  return read_elements(tensor.spec, [&](std::span<std::byte> target) {
    return file_.read(data_begin_ + tensor.begin, target);
  });
}

absl::StatusOr<dispatch::HostData> SafetensorsFile::read(std::string_view name) const {
  if (const SafetensorsHeader::Tensor* tensor = find(name)) return read(*tensor);
  return absl::NotFoundError(str_cat("there is no tensor ", in_quotes(name)));
}

absl::Status write_safetensors(const std::filesystem::path& path, std::vector<NamedData> tensors,
                               const Metadata& metadata) {
  sort_for_safetensors(tensors);
  REMORA_ASSIGN_OR_RETURN(const std::string header, format_safetensors_header(tensors, metadata));
  REMORA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  REMORA_RETURN_IF_ERROR(file.write(header));
  for (const NamedData& tensor : tensors) REMORA_RETURN_IF_ERROR(file.write(tensor.data.span()));
  return file.commit();
}

}  // namespace remora::io
