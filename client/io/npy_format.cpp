#include "client/io/npy_format.h"

#include <array>
#include <cstring>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_join.h"
#include "client/io/file_error.h"
#include "client/io/limits.h"
#include "client/io/npy_dict.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

/// NumPy's letter for an element type; its size follows. There is none for bf16.
char kind_letter(DType dtype) {
  switch (dtype_category(dtype)) {
    case DTypeCategory::kBoolean:
      return 'b';
    case DTypeCategory::kSigned:
      return 'i';
    case DTypeCategory::kUnsigned:
      return 'u';
    case DTypeCategory::kFloat:
      return 'f';
  }
  return '?';
}

/// "<f4" without its first character.
std::string type_code(DType dtype) {
  return str_cat(std::string(1, kind_letter(dtype)), dtype_size(dtype));
}

std::optional<DType> dtype_of_code(std::string_view code) {
#define DTYPE(number, enumerator, name, storage, category)                       \
  if (DType::enumerator != DType::kBF16 && code == type_code(DType::enumerator)) \
    return DType::enumerator;
#include "dispatch/dtypes.def"
#undef DTYPE
  return std::nullopt;
}

absl::StatusOr<DType> parse_descr(const std::string& descr) {
  const std::string shown = in_quotes(descr);
  const auto lacking = [&](std::string_view what) {
    return absl::UnimplementedError(str_cat("the header: field \"descr\": ", shown, " ", what));
  };
  if (descr.size() < 2)
    return malformed(str_cat("the header: field \"descr\": ", shown, " is no element type"));
  const char order = descr.front();
  const std::string_view code = std::string_view(descr).substr(1);
  if (code.starts_with('O')) return lacking("holds Python objects, which are never read");
  if (order == '>') {
    return lacking(str_cat("is big-endian; save it with array.astype('<", code, "')"));
  }
  const std::optional<DType> dtype =
      order == '<' || order == '|' || order == '=' ? dtype_of_code(code) : std::nullopt;
  if (!dtype) return lacking("is no element type of a tensor");
  return *dtype;
}

absl::Status parse_descr_field(NpyDictReader& reader, NpyHeader& header) {
  if (reader.take('[')) {
    return absl::UnimplementedError(
        "the header: field \"descr\": a structured array is no tensor; save its fields one by one");
  }
  REMORA_ASSIGN_OR_RETURN(const std::string descr, reader.string());
  REMORA_ASSIGN_OR_RETURN(header.spec.dtype, parse_descr(descr));
  return absl::OkStatus();
}

absl::Status parse_order_field(NpyDictReader& reader, NpyHeader& header) {
  REMORA_ASSIGN_OR_RETURN(header.fortran_order, reader.boolean());
  return absl::OkStatus();
}

absl::Status parse_shape_field(NpyDictReader& reader, NpyHeader& header) {
  REMORA_ASSIGN_OR_RETURN(Dims sizes, reader.tuple());
  header.spec.shape = Shape(std::move(sizes));
  const absl::Status status = check_shape(header.spec.shape);
  return status.ok() ? status : reader.error(std::string(status.message()));
}

struct Field {
  std::string_view name;
  absl::Status (*parse)(NpyDictReader&, NpyHeader&);
};
constexpr std::array kFields = {Field{"descr", parse_descr_field},
                                Field{"fortran_order", parse_order_field},
                                Field{"shape", parse_shape_field}};

/// One "'name': value"; `seen` says which fields came before.
absl::Status parse_field(NpyDictReader& reader, NpyHeader& header,
                         std::array<bool, kFields.size()>& seen) {
  reader.enter("");
  REMORA_ASSIGN_OR_RETURN(const std::string name, reader.string());
  reader.enter(name);
  for (size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].name != name) continue;
    if (std::exchange(seen[i], true)) return reader.error("comes twice");
    if (!reader.take(':')) return reader.error("has no ':' behind its name");
    return kFields[i].parse(reader, header);
  }
  return reader.error("is unknown");
}

/// How far a step along an axis leads, in bytes.
struct Axis {
  int64_t size = 0;
  int64_t source_stride = 0;
};

/// Copies elements that lie with the first axis fastest to row-major order.
void copy_from_fortran(const Spec& spec, std::span<const std::byte> source,
                       std::span<std::byte> target) {
  const int64_t element = dtype_size(spec.dtype);
  absl::InlinedVector<Axis, 6> axes;
  int64_t stride = element;
  for (const int64_t size : spec.shape.sizes()) {
    axes.push_back({size, stride});
    stride *= size;
  }
  Dims index(axes.size(), 0);
  int64_t from = 0;
  for (int64_t to = 0; to < std::ssize(target); to += element) {
    std::memcpy(target.data() + to, source.data() + from, static_cast<size_t>(element));
    for (size_t axis = axes.size(); axis-- > 0;) {
      from += axes[axis].source_stride;
      if (++index[axis] < axes[axis].size) break;
      from -= axes[axis].source_stride * axes[axis].size;
      index[axis] = 0;
    }
  }
}

/// The bytes of the header's length: two in version 1, four in 2 and 3.
absl::StatusOr<size_t> read_header_length(const ReadNext& read, int64_t& bytes_left) {
  std::array<char, 8> start = {};
  if (bytes_left < std::ssize(start)) {
    return malformed(
        str_cat("has ", bytes_left, " bytes; the magic and the version alone take ", start.size()));
  }
  REMORA_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(start))));
  bytes_left -= std::ssize(start);
  if (std::string_view(start.data(), kMagic.size()) != kMagic) {
    return malformed("does not begin with \"\\x93NUMPY\": it is no .npy file");
  }
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return malformed(str_cat("the version is ", major, ".", minor, "; 1.0, 2.0 and 3.0 are known"));
  }
  uint32_t length = 0;
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes_left < static_cast<int64_t>(length_bytes)) return malformed("ends before the header");
  REMORA_RETURN_IF_ERROR(
      read(std::as_writable_bytes(std::span(&length, 1)).subspan(0, length_bytes)));
  bytes_left -= static_cast<int64_t>(length_bytes);
  if (length > kMaxNpyHeaderBytes || length > bytes_left) {
    return malformed(str_cat("the header claims ", length, " bytes; ", bytes_left,
                             " follow, and the limit is ", kMaxNpyHeaderBytes));
  }
  return length;
}

}  // namespace

absl::StatusOr<NpyHeader> parse_npy_header(std::string_view text) {
  NpyDictReader reader(text);
  NpyHeader header;
  std::array<bool, kFields.size()> seen = {};
  if (!reader.take('{')) return reader.error("is not a dict");
  bool is_closed = reader.take('}');
  while (!is_closed) {
    REMORA_RETURN_IF_ERROR(parse_field(reader, header, seen));
    const bool has_comma = reader.take(',');
    is_closed = reader.take('}');
    if (!has_comma && !is_closed) return reader.error("has no ',' behind it");
  }
  reader.enter("");
  if (!reader.at_end()) return reader.error("has text behind the dict");
  for (size_t i = 0; i < kFields.size(); ++i) {
    reader.enter(kFields[i].name);
    if (!seen[i]) return reader.error("is missing");
  }
  return header;
}

absl::StatusOr<std::string> format_npy_header(const Spec& spec) {
  if (spec.dtype == DType::kBF16) {
    return absl::UnimplementedError(
        "NumPy has no bf16: convert the tensor with astype, or save it as safetensors");
  }
  const bool is_one_byte = dtype_size(spec.dtype) == 1;
  const std::string sizes = absl::StrJoin(spec.shape.sizes(), ", ");
  std::string dict = str_cat("{'descr': '", is_one_byte ? "|" : "<", type_code(spec.dtype),
                             "', 'fortran_order': False, 'shape': (", sizes,
                             spec.shape.rank() == 1 ? ",), }" : "), }");
  const size_t start_bytes = kMagic.size() + 4;
  while ((start_bytes + dict.size() + 1) % kAlignment != 0) dict += ' ';
  dict += '\n';
  const auto length = static_cast<uint16_t>(dict.size());
  std::string text(kMagic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(length & 0xff);
  text += static_cast<char>(length >> 8);
  return text + dict;
}

absl::StatusOr<dispatch::HostData> read_npy(const ReadNext& read, int64_t total_bytes) {
  int64_t bytes_left = total_bytes;
  REMORA_ASSIGN_OR_RETURN(const size_t length, read_header_length(read, bytes_left));
  std::string text(length, '\0');
  REMORA_RETURN_IF_ERROR(read(std::as_writable_bytes(std::span(text))));
  bytes_left -= static_cast<int64_t>(length);
  REMORA_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(text));
  const Spec& spec = header.spec;
  if (spec.byte_size() != bytes_left) {
    return malformed(str_cat("the header: field \"shape\": ", spec.str(), " takes ",
                             spec.byte_size(), " bytes, but ", bytes_left, " follow"));
  }
  REMORA_ASSIGN_OR_RETURN(dispatch::HostData data, read_elements(spec, read));
  if (!header.fortran_order || spec.shape.rank() < 2) return data;
  return read_elements(spec, [&](std::span<std::byte> target) {
    copy_from_fortran(spec, data.span(), target);
    return absl::OkStatus();
  });
}

}  // namespace remora::io
