#include "client/io/idx_format.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "client/io/file_error.h"
#include "client/io/gzip_reader.h"
#include "client/io/input_file.h"
#include "client/io/limits.h"
#include "client/limits.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::io {

namespace {

std::optional<DType> dtype_of_code(uint8_t code) {
  switch (code) {
    case 0x08:
      return DType::kU8;
    case 0x09:
      return DType::kI8;
    case 0x0B:
      return DType::kI16;
    case 0x0C:
      return DType::kI32;
    case 0x0D:
      return DType::kF32;
    case 0x0E:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

/// Fills all of `target`; `what` names it where the file ends too early.
absl::Status read_exactly(GzipReader& reader, std::span<std::byte> target, std::string_view what) {
  REMORA_ASSIGN_OR_RETURN(const size_t count, reader.read(target));
  if (count == target.size()) return absl::OkStatus();
  return malformed(str_cat(what, ": the file ends ", target.size() - count, " bytes too early"));
}

absl::StatusOr<Spec> read_header(GzipReader& reader) {
  std::array<uint8_t, 4> magic = {};
  REMORA_RETURN_IF_ERROR(read_exactly(reader, std::as_writable_bytes(std::span(magic)), "magic"));
  if (magic[0] != 0 || magic[1] != 0) {
    return malformed("magic: does not begin with two zero bytes: it is no IDX file");
  }
  const std::optional<DType> dtype = dtype_of_code(magic[2]);
  if (!dtype) {
    return malformed(str_cat("element type: ", static_cast<int>(magic[2]),
                             " is not one of 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32), 14 "
                             "(f64)"));
  }
  if (magic[3] > dispatch::kMaxRank) {
    return malformed(str_cat("number of axes: ", static_cast<int>(magic[3]), " is more than ",
                             dispatch::kMaxRank));
  }
  Spec spec{*dtype, {}};
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<uint8_t, 4> size = {};
    REMORA_RETURN_IF_ERROR(read_exactly(reader, std::as_writable_bytes(std::span(size)),
                                        str_cat("size of axis ", axis)));
    int64_t value = 0;
    for (const uint8_t byte : size) value = value << 8 | byte;
    spec.shape.sizes().push_back(value);
  }
  if (const absl::Status status = check_shape(spec.shape); !status.ok()) {
    return malformed(str_cat("sizes: ", std::string(status.message())));
  }
  return spec;
}

absl::Status check_plain_size(const Spec& spec, int64_t file_bytes) {
  const int64_t header_bytes = 4 + 4 * spec.shape.rank();
  if (file_bytes == header_bytes + spec.byte_size()) return absl::OkStatus();
  return malformed(str_cat("sizes: ", spec.str(), " takes ", spec.byte_size(), " bytes, but ",
                           file_bytes - header_bytes, " follow the header"));
}

/// What a compressed file says of its size is not known to be true before it is read.
absl::StatusOr<dispatch::HostData> read_growing(GzipReader& reader, const Spec& spec) {
  const auto expected = static_cast<size_t>(spec.byte_size());
  if (expected > kMaxDataFileBytes) {
    return absl::ResourceExhaustedError(str_cat("sizes: ", spec.str(), " takes ", expected,
                                                " bytes; of a compressed file at most ",
                                                kMaxDataFileBytes, " are read"));
  }
  auto bytes = std::make_shared<std::vector<std::byte>>();
  while (bytes->size() < expected) {
    const size_t size = bytes->size();
    bytes->resize(std::min(expected, std::max(2 * size, kStreamChunkBytes)));
    REMORA_RETURN_IF_ERROR(
        read_exactly(reader, std::span(*bytes).subspan(size), str_cat("elements of ", spec.str())));
  }
  std::byte* data = bytes->data();
  return dispatch::HostData(spec, std::shared_ptr<const std::byte>(std::move(bytes), data));
}

/// The same elements with the bytes of each reversed.
absl::StatusOr<dispatch::HostData> swap_bytes(const dispatch::HostData& data) {
  const auto element = static_cast<size_t>(dtype_size(data.spec.dtype));
  return read_elements(data.spec, [&](std::span<std::byte> target) {
    std::ranges::copy(data.span(), target.begin());
    for (size_t i = 0; i < target.size(); i += element) {
      std::ranges::reverse(target.subspan(i, element));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<dispatch::HostData> read_idx(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(GzipReader reader, GzipReader::open(path));
  REMORA_ASSIGN_OR_RETURN(const Spec spec, read_header(reader));
  dispatch::HostData data;
  if (reader.is_plain()) {
    REMORA_RETURN_IF_ERROR(check_plain_size(spec, reader.file_bytes()));
    REMORA_ASSIGN_OR_RETURN(data, read_elements(spec, [&](std::span<std::byte> target) {
                              return read_exactly(reader, target, "elements");
                            }));
  } else {
    REMORA_ASSIGN_OR_RETURN(data, read_growing(reader, spec));
  }
  std::array<std::byte, 1> behind = {};
  REMORA_ASSIGN_OR_RETURN(const size_t count, reader.read(behind));
  if (count != 0) return malformed(str_cat("more bytes follow the elements of ", spec.str()));
  if (dtype_size(spec.dtype) == 1) return data;
  return swap_bytes(data);
}

}  // namespace remora::io
