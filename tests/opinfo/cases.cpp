#include "tests/opinfo/cases.h"

#include <algorithm>

#include "client/io/file_error.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/file_bytes.h"
#include "tests/opinfo/limits.h"

namespace remora::opinfo {
namespace {

absl::Status bad(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<std::string> text_field(const Json& object, std::string_view name) {
  const auto field = object.find(name);
  if (field == object.end() || !field->is_string()) {
    return bad(str_cat("field \"", name, "\" is missing or not a string"));
  }
  return field->get<std::string>();
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> text_pairs(const Json& object,
                                                                            std::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto field = object.find(name);
  if (field == object.end()) return pairs;
  if (!field->is_object()) return bad(str_cat("field \"", name, "\" is not an object"));
  for (const auto& [key, value] : field->items()) {
    if (!value.is_string()) return bad(str_cat(name, ": \"", key, "\" is not a string"));
    pairs.emplace_back(key, value.get<std::string>());
  }
  return pairs;
}

absl::Status check_depth(const Json& value, int depth) {
  if (!value.is_structured()) return absl::OkStatus();
  if (depth == 0) {
    return bad(str_cat("arguments nest deeper than ", kMaxArgumentDepth, " levels"));
  }
  for (const Json& element : value) REMORA_RETURN_IF_ERROR(check_depth(element, depth - 1));
  return absl::OkStatus();
}

/// Calls `found` with the value of every `{name: value}` in the arguments. Their depth has been
/// checked.
template <typename Found>
void visit_tagged(const Json& value, std::string_view name, const Found& found) {
  if (value.is_object()) {
    if (const auto tagged = value.find(name); tagged != value.end() && tagged->is_string()) {
      found(tagged->template get_ref<const std::string&>());
      return;
    }
  }
  if (value.is_structured()) {
    for (const Json& element : value) visit_tagged(element, name, found);
  }
}

std::vector<std::string> tagged(const Json& value, std::string_view name) {
  std::vector<std::string> texts;
  visit_tagged(value, name, [&](const std::string& text) { texts.push_back(text); });
  return texts;
}

absl::Status check_known(const io::SafetensorsFile& tensors, const std::string& key) {
  if (tensors.find(key) != nullptr) return absl::OkStatus();
  return bad(str_cat("tensors.safetensors has no tensor \"", key, "\""));
}

absl::Status check_tensors(const Case& sample, const io::SafetensorsFile& tensors) {
  for (const std::string& key : tensor_keys(sample.args)) {
    REMORA_RETURN_IF_ERROR(check_known(tensors, key));
  }
  for (const std::string& key : tensor_keys(sample.kwargs)) {
    REMORA_RETURN_IF_ERROR(check_known(tensors, key));
  }
  for (const std::string& key : sample.outputs) REMORA_RETURN_IF_ERROR(check_known(tensors, key));
  for (const auto& [input, gradient] : sample.gradients) {
    REMORA_RETURN_IF_ERROR(check_known(tensors, input));
    REMORA_RETURN_IF_ERROR(check_known(tensors, gradient));
  }
  for (const auto& [output, cotangent] : sample.cotangents) {
    REMORA_RETURN_IF_ERROR(check_known(tensors, cotangent));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> tensor_keys(const Json& arguments) { return tagged(arguments, "tensor"); }

std::vector<std::string> dtype_names(const Json& arguments) { return tagged(arguments, "dtype"); }

absl::StatusOr<Case> parse_case(std::string_view line, const io::SafetensorsFile& tensors) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad("is not a JSON object");
  Case sample;
  REMORA_ASSIGN_OR_RETURN(sample.id, text_field(json, "id"));
  REMORA_ASSIGN_OR_RETURN(sample.op, text_field(json, "op"));
  sample.args = json.value("args", Json::array());
  sample.kwargs = json.value("kwargs", Json::object());
  if (!sample.args.is_array()) return bad("field \"args\" is not an array");
  if (!sample.kwargs.is_object()) return bad("field \"kwargs\" is not an object");
  REMORA_RETURN_IF_ERROR(check_depth(sample.args, kMaxArgumentDepth));
  REMORA_RETURN_IF_ERROR(check_depth(sample.kwargs, kMaxArgumentDepth));
  const auto error = json.find("error");
  sample.must_fail = error != json.end() && error->is_boolean() && error->get<bool>();
  if (!sample.must_fail) {
    const auto outputs = json.find("outputs");
    if (outputs == json.end() || !outputs->is_array())
      return bad("field \"outputs\" is not an array");
    for (const Json& key : *outputs) {
      if (!key.is_string()) return bad("an output is not a string");
      sample.outputs.push_back(key.get<std::string>());
    }
    REMORA_ASSIGN_OR_RETURN(sample.gradients, text_pairs(json, "grads"));
    REMORA_ASSIGN_OR_RETURN(const auto cotangents, text_pairs(json, "cotangents"));
    sample.cotangents.insert(cotangents.begin(), cotangents.end());
  }
  REMORA_RETURN_IF_ERROR(check_tensors(sample, tensors));
  return sample;
}

absl::StatusOr<CaseSet> read_cases(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "cases.jsonl";
  const std::filesystem::path tensor_path = directory / "tensors.safetensors";
  absl::StatusOr<io::SafetensorsFile> tensors = io::SafetensorsFile::open(tensor_path);
  if (!tensors.ok()) return io::prefixed(tensor_path.string(), tensors.status());
  REMORA_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxCaseFileBytes));
  CaseSet set{{}, *std::move(tensors)};
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    if (set.cases.size() == kMaxCases) {
      return absl::ResourceExhaustedError(
          str_cat(path.string(), ": more than ", kMaxCases, " cases"));
    }
    absl::StatusOr<Case> sample = parse_case(line, set.tensors);
    if (!sample.ok()) {
      return bad(
          str_cat(path.string(), " line ", number, ": ", std::string(sample.status().message())));
    }
    set.cases.push_back(*std::move(sample));
  }
  return set;
}

}  // namespace remora::opinfo
