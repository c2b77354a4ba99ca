// NumPy's .npy format: magic, version, the length of a header, the header (a Python dict literal
// of the element type, the order and the shape), the elements. Pure functions over bytes that are
// not trusted; any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/io/input_file.h"

namespace remora::io {

struct NpyHeader {
  Spec spec;
  bool fortran_order = false;  // the first axis varies fastest
};

/// The dict with its padding. INVALID_ARGUMENT names the field and what is wrong, UNIMPLEMENTED the
/// element type that no tensor has (big-endian, object, text, complex, structured).
absl::StatusOr<NpyHeader> parse_npy_header(std::string_view text);

/// Everything before the elements, padded to a multiple of 64 bytes, version 1. UNIMPLEMENTED for
/// bf16, which NumPy has no name for.
absl::StatusOr<std::string> format_npy_header(const Spec& spec);

/// Reads a whole array of `total_bytes` bytes, header included, from its beginning to its end.
/// Nothing is allocated beyond that number, which the caller must have checked. Elements in Fortran
/// order are brought to row-major.
absl::StatusOr<dispatch::HostData> read_npy(const ReadNext& read, int64_t total_bytes);

}  // namespace remora::io
