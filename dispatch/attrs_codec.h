// Attributes as bytes, by `fields()`: the key part, which is also the wire form inside a graph.
// Integers are zigzag LEB128 varints. A param field writes its structure only: a scalar its kind, a
// list its length.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dispatch/attrs.h"

namespace remora::dispatch {

void append_varint(std::string& out, uint64_t value);
/// Reads a minimal LEB128 varint off the front of `in`; false if it is cut short or not minimal.
bool read_varint(std::string_view& in, uint64_t& value);
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void append_spec(std::string& out, const Spec& spec);
/// Checks dtype, rank and sizes.
absl::Status read_spec(std::string_view& in, Spec& spec);

void append_attrs_key(std::string& out, const Attrs& attrs);
/// Reads into `attrs`, whose active struct says what to expect. Param fields get zeros of their
/// structure.
absl::Status read_attrs_key(std::string_view& in, Attrs& attrs);

}  // namespace remora::dispatch
