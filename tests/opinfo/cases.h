// The cases of a directory in the format of tests/vectors/opinfo/README.md: calls of PyTorch's
// operators with their answers, and calls that must be refused. The files are not trusted.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/io/safetensors_file.h"
#include "nlohmann/json.hpp"

namespace remora::opinfo {

using Json = nlohmann::ordered_json;

struct Case {
  std::string id;
  std::string op;  // PyTorch's name
  Json args;       // an array
  Json kwargs;     // an object
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, std::string>> gradients;  // input key, gradient key
  absl::flat_hash_map<std::string, std::string> cotangents;    // output key, cotangent key
  bool must_fail = false;
};

struct CaseSet {
  std::vector<Case> cases;
  io::SafetensorsFile tensors;
};

/// Reads `cases.jsonl` and `tensors.safetensors`. Errors name the file, the line and what is wrong.
absl::StatusOr<CaseSet> read_cases(const std::filesystem::path& directory);

/// One line of `cases.jsonl`; every tensor it names must be among `tensors`.
absl::StatusOr<Case> parse_case(std::string_view line, const io::SafetensorsFile& tensors);

/// The tensor keys of a call's arguments, in order of their place, duplicates kept.
std::vector<std::string> tensor_keys(const Json& arguments);
/// The element types a call's arguments name, as they are spelled ("F32").
std::vector<std::string> dtype_names(const Json& arguments);

}  // namespace remora::opinfo
