// The header of a safetensors file: JSON that names each tensor's element type, shape and place in
// the data behind it. Pure functions over bytes that are not trusted; any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/io/host_tensors.h"

namespace remora::io {

struct SafetensorsHeader {
  struct Tensor {
    std::string name;
    Spec spec;
    int64_t begin = 0;  // offset in the data
  };
  std::vector<Tensor> tensors;                      // in the order of the header
  absl::flat_hash_map<std::string, size_t> places;  // name -> index in `tensors`
  Metadata metadata;
};

/// The header of `data_bytes` bytes of data. INVALID_ARGUMENT names the tensor, the field and what
/// is wrong: the tensors must fill the data without overlap or hole.
absl::StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                           int64_t data_bytes);

/// Sorts the tensors as the format's own writer lays them out: wide elements first, so that each
/// tensor is aligned, then by name.
void sort_for_safetensors(std::vector<NamedData>& tensors);

/// What stands before the data of tensors so sorted: the length, the JSON, spaces up to a multiple
/// of 8. INVALID_ARGUMENT for a name or text that is not UTF-8, a name twice, the reserved name, or
/// a header longer than the format allows.
absl::StatusOr<std::string> format_safetensors_header(std::span<const NamedData> tensors,
                                                      const Metadata& metadata);

}  // namespace remora::io
