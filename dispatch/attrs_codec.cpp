#include "dispatch/attrs_codec.h"

#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

bool read_varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < in.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(in[i]);
    if (i == 9 && byte > 1) return false;  // beyond 64 bits
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    if (byte == 0 && i > 0) return false;  // not minimal
    in.remove_prefix(i + 1);
    return true;
  }
  return false;
}

namespace {

void append_field(std::string& out, bool value) { out.push_back(value ? 1 : 0); }
void append_field(std::string& out, DType value) { out.push_back(static_cast<char>(value)); }
void append_field(std::string& out, int64_t value) { append_varint(out, zigzag(value)); }
void append_field(std::string& out, uint64_t value) { append_varint(out, value); }
void append_field(std::string& out, const Dims& list) {
  append_varint(out, list.size());
  for (const int64_t item : list) append_varint(out, zigzag(item));
}
void append_field(std::string& out, const Shape& shape) { append_field(out, shape.sizes()); }
void append_field(std::string& out, const Scalar& value) {
  out.push_back(value.is_float() ? 1 : 0);
  append_varint(out, value.bits());
}

// The structure of a param field: what a run's slots mean.
void append_structure(std::string& out, const Scalar& value) {
  out.push_back(value.is_float() ? 1 : 0);
}
void append_structure(std::string&, uint64_t) {}
void append_structure(std::string& out, const Dims& list) { append_varint(out, list.size()); }
template <typename T>
void append_structure(std::string&, const T&) {}

bool read_byte(std::string_view& in, uint8_t& byte, uint8_t max) {
  if (in.empty() || static_cast<uint8_t>(in[0]) > max) return false;
  byte = static_cast<uint8_t>(in[0]);
  in.remove_prefix(1);
  return true;
}

bool read_length(std::string_view& in, size_t& length) {
  uint64_t value = 0;
  if (!read_varint(in, value) || value > kMaxAttrList) return false;
  length = static_cast<size_t>(value);
  return true;
}

bool read_field(std::string_view& in, bool& value) {
  uint8_t byte = 0;
  if (!read_byte(in, byte, 1)) return false;
  value = byte == 1;
  return true;
}
bool read_field(std::string_view& in, DType& value) {
  uint8_t byte = 0;
  if (!read_byte(in, byte, 0xff) || !is_known_dtype(byte)) return false;
  value = static_cast<DType>(byte);
  return true;
}
bool read_field(std::string_view& in, int64_t& value) {
  uint64_t coded = 0;
  if (!read_varint(in, coded)) return false;
  value = unzigzag(coded);
  return true;
}
bool read_field(std::string_view& in, uint64_t& value) { return read_varint(in, value); }
bool read_field(std::string_view& in, Dims& list) {
  size_t length = 0;
  if (!read_length(in, length)) return false;
  list.resize(length);
  for (int64_t& item : list) {
    if (!read_field(in, item)) return false;
  }
  return true;
}
bool read_field(std::string_view& in, Shape& shape) { return read_field(in, shape.sizes()); }
bool read_field(std::string_view& in, Scalar& value) {
  bool is_float = false;
  uint64_t bits = 0;
  if (!read_field(in, is_float) || !read_varint(in, bits)) return false;
  value = Scalar::from_bits(is_float, bits);
  return true;
}

bool read_structure(std::string_view& in, Scalar& value) {
  bool is_float = false;
  if (!read_field(in, is_float)) return false;
  value = Scalar::from_bits(is_float, 0);
  return true;
}
bool read_structure(std::string_view&, uint64_t& value) {
  value = 0;
  return true;
}
bool read_structure(std::string_view& in, Dims& list) {
  size_t length = 0;
  if (!read_length(in, length)) return false;
  list.assign(length, 0);
  return true;
}
template <typename T>
bool read_structure(std::string_view&, T&) {
  return false;
}

}  // namespace

void append_spec(std::string& out, const Spec& spec) {
  append_field(out, spec.dtype);
  append_varint(out, static_cast<uint64_t>(spec.shape.rank()));
  for (const int64_t size : spec.shape.sizes()) append_varint(out, static_cast<uint64_t>(size));
}

absl::Status read_spec(std::string_view& in, Spec& spec) {
  uint64_t rank = 0;
  if (!read_field(in, spec.dtype)) return absl::InvalidArgumentError("unknown dtype number");
  if (!read_varint(in, rank)) return absl::InvalidArgumentError("shape is cut short");
  if (rank > static_cast<uint64_t>(kMaxRank)) {
    return absl::InvalidArgumentError(
        str_cat("rank ", rank, " exceeds the limit of ", kMaxRank, " axes"));
  }
  spec.shape.sizes().resize(static_cast<size_t>(rank));
  for (int64_t& size : spec.shape.sizes()) {
    uint64_t value = 0;
    if (!read_varint(in, value)) return absl::InvalidArgumentError("shape is cut short");
    if (value > static_cast<uint64_t>(kMaxElements)) {
      return absl::InvalidArgumentError(
          str_cat("size ", value, " exceeds the limit of ", kMaxElements, " elements"));
    }
    size = static_cast<int64_t>(value);
  }
  return check_shape(spec.shape);
}

void append_attrs_key(std::string& out, const Attrs& attrs) {
  visit_fields(attrs, [&](const auto& field, const auto& value) {
    if (field.kind == FieldKind::kKey) {
      append_field(out, value);
    } else {
      append_structure(out, value);
    }
  });
}

absl::Status read_attrs_key(std::string_view& in, Attrs& attrs) {
  absl::Status status;
  visit_fields(attrs, [&](const auto& field, auto& value) {
    if (!status.ok()) return;
    const bool good =
        field.kind == FieldKind::kKey ? read_field(in, value) : read_structure(in, value);
    if (!good) {
      status = absl::InvalidArgumentError(
          str_cat("attribute '", field.name, "' is cut short or out of range"));
    }
  });
  return status;
}

}  // namespace remora::dispatch
