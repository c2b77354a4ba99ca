#include "tests/opinfo/torch_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "client/bindings/function.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "opinfo_torch_table.h"
#include "tests/opinfo/call_expression.h"

namespace remora::opinfo {
namespace {

using bindings::Argument;
using bindings::NamedArgument;

absl::Status bad(const std::string& what) { return absl::InvalidArgumentError(what); }

std::optional<double> special_float(const std::string& text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::nan("");
  return std::nullopt;
}

/// What `{name: text}` stands for in a case.
std::optional<Argument> convert_tagged(const std::string& name, const std::string& text,
                                       const TensorOfKey& tensor) {
  if (name == "tensor") return Argument(tensor(text));
  if (name == "float") {
    const auto number = special_float(text);
    return number ? std::optional<Argument>(*number) : std::nullopt;
  }
  if (name == "dtype") {
    const auto dtype = dtype_from_name(absl::AsciiStrToLower(text));
    return dtype ? std::optional<Argument>(*dtype) : std::nullopt;
  }
  return std::nullopt;
}

/// A value of a case as an argument, or nothing for one that has no counterpart (slices, ellipsis).
/// The nesting depth has been checked.
std::optional<Argument> convert(const Json& value, const TensorOfKey& tensor) {
  if (value.is_null()) return Argument();
  if (value.is_boolean()) return Argument(value.get<bool>());
  if (value.is_number_integer()) return Argument(value.get<int64_t>());
  if (value.is_number_float()) return Argument(value.get<double>());
  if (value.is_string()) return Argument(value.get<std::string>());
  if (value.is_object()) {
    if (value.size() != 1 || !value.begin()->is_string()) return std::nullopt;
    return convert_tagged(value.begin().key(), value.begin()->get_ref<const std::string&>(),
                          tensor);
  }
  Argument::List list;
  for (const Json& element : value) {
    std::optional<Argument> argument = convert(element, tensor);
    if (!argument) return std::nullopt;
    list.push_back(*std::move(argument));
  }
  return Argument(std::move(list));
}

/// An index of `__getitem__`: what `convert` knows, and slices and ellipses, as getitem.h takes
/// them.
std::optional<Argument> convert_index(const Json& value, const TensorOfKey& tensor) {
  if (value.is_object() && value.contains("ellipsis")) return Argument(std::string("ellipsis"));
  const bool is_slice = value.is_object() && value.contains("slice") && value["slice"].is_array();
  if (!is_slice && !value.is_array()) return convert(value, tensor);
  Argument::List list;
  if (is_slice) list.emplace_back(std::string("slice"));
  for (const Json& element : is_slice ? value["slice"] : value) {
    std::optional<Argument> argument = convert_index(element, tensor);
    if (!argument) return std::nullopt;
    list.push_back(*std::move(argument));
  }
  return Argument(std::move(list));
}

/// PyTorch's `device` is the device under test, and `requires_grad` says nothing here.
bool is_ignored(const std::string& keyword) {
  return keyword == "device" || keyword == "requires_grad";
}

/// "<tensor>" and the like: conditions on what kind of argument it is.
bool is_kind(const Argument& argument, const std::string& kind) {
  const auto* tensor = argument.get_if<Tensor>();
  if (kind == "<tensor>") return tensor != nullptr;
  if (kind == "<float>") return tensor != nullptr && is_float(tensor->dtype());
  if (tensor != nullptr && kind == str_cat("<rank ", tensor->rank(), ">")) return true;
  if (kind == "<list>") return argument.get_if<Argument::List>() != nullptr;
  const auto* integer = argument.get_if<int64_t>();
  if (kind == "<integer>") return integer != nullptr;
  if (kind == "<natural>") return integer != nullptr && *integer >= 0;
  return kind == "<number>" && (integer != nullptr || argument.get_if<double>() != nullptr);
}

bool matches(const Argument& argument, const Json& value) {
  if (value.is_string() && is_kind(argument, value.get_ref<const std::string&>())) return true;
  return argument.str() == convert(value, nullptr).value_or(Argument()).str();
}

/// True if each argument that `only` names has one of the values, or is of one of the kinds, listed
/// there.
bool allows(const Json& only, const Variables& variables) {
  for (const auto& [name, values] : only.items()) {
    const Argument& argument = variables.at(name);
    const bool allowed = std::any_of(values.begin(), values.end(),
                                     [&](const Json& value) { return matches(argument, value); });
    if (!allowed) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<TorchTable::Variant> TorchTable::parse_variant(const Json& row) {
  if (row.is_string()) return Variant{{}, row, Json::object()};
  if (!row.is_object()) return bad("is neither a function's name nor an object");
  for (const auto& [field, value] : row.items()) {
    if (field != "takes" && field != "call" && field != "only" && field != "why") {
      return bad(str_cat("has an unknown field \"", field, "\""));
    }
  }
  const auto takes = row.find("takes");
  const auto call = row.find("call");
  if (takes == row.end() || !takes->is_string()) return bad("has no \"takes\"");
  if (call == row.end() || !call->is_array()) return bad("has no \"call\"");
  Variant variant{{}, *call, row.value("only", Json::object())};
  REMORA_ASSIGN_OR_RETURN(variant.takes,
                          bindings::Signature::parse(takes->get_ref<const std::string&>()));
  std::vector<std::string> names;
  for (const auto& parameter : variant.takes.parameters()) names.push_back(parameter.name);
  REMORA_RETURN_IF_ERROR(check_expression(variant.call, names));
  if (!variant.only.is_object()) return bad("\"only\" is not an object");
  for (const auto& [name, values] : variant.only.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end() || !values.is_array()) {
      return bad(str_cat("\"only\" names no argument, or no list of values: \"", name, "\""));
    }
  }
  return variant;
}

absl::StatusOr<TorchTable> TorchTable::parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("functions") || !json["functions"].is_object() ||
      !json.contains("rename") || !json["rename"].is_object()) {
    return bad("torch table: must be an object with \"rename\" and \"functions\"");
  }
  TorchTable table;
  for (const auto& [torch, ours] : json["rename"].items()) {
    if (!ours.is_string()) return bad(str_cat("torch table: rename \"", torch, "\" is not text"));
    table.renames_[torch] = ours.get<std::string>();
  }
  for (const auto& [op, row] : json["functions"].items()) {
    std::vector<Variant>& variants = table.rows_[op];
    for (const Json& one : row.is_array() ? row : Json::array({row})) {
      absl::StatusOr<Variant> variant = parse_variant(one);
      if (!variant.ok()) {
        return bad(str_cat("torch table: \"", op, "\" ", std::string(variant.status().message())));
      }
      variants.push_back(*std::move(variant));
    }
  }
  return table;
}

absl::StatusOr<TorchTable> TorchTable::built_in() { return parse(kTorchTableJson); }

std::string TorchTable::our_name(const std::string& torch_name) const {
  const auto renamed = renames_.find(torch_name);
  return renamed == renames_.end() ? torch_name : renamed->second;
}

std::variant<Argument, NotOffered> TorchTable::call(const Case& sample, const Device& device,
                                                    const TensorOfKey& tensor) const {
  const auto row = rows_.find(sample.op);
  if (row == rows_.end()) return NotOffered{"there is no such function"};
  std::vector<Argument> positional;
  std::vector<NamedArgument> keywords;
  const auto convert_one = sample.op == "__getitem__" ? convert_index : convert;
  for (const Json& value : sample.args) {
    std::optional<Argument> argument = convert_one(value, tensor);
    if (!argument) return NotOffered{str_cat("an argument ", value.dump(), " is not offered")};
    positional.push_back(*std::move(argument));
  }
  for (const auto& [name, value] : sample.kwargs.items()) {
    if (is_ignored(name)) continue;
    std::optional<Argument> argument = convert(value, tensor);
    if (!argument) return NotOffered{str_cat("an argument ", value.dump(), " is not offered")};
    keywords.push_back({name, *std::move(argument)});
  }

  std::string reason;
  for (const Variant& variant : row->second) {
    if (variant.call.is_string()) {
      const auto& function = variant.call.get_ref<const std::string&>();
      if (!bindings::has_function(function)) return NotOffered{str_cat("there is no ", function)};
      for (NamedArgument& keyword : keywords) keyword.name = our_name(keyword.name);
      return bindings::call_function(function, positional, keywords);
    }
    auto bound = variant.takes.bind(sample.op, positional, keywords);
    if (!bound.ok()) {
      reason = std::string(bound.status().message());
      continue;
    }
    Variables variables{{"device", Argument(device)}};
    for (size_t i = 0; i < bound->size(); ++i) {
      variables[variant.takes.parameters()[i].name] = (*bound)[i];
    }
    if (!allows(variant.only, variables)) {
      reason = "this choice of arguments is not offered";
      continue;
    }
    if (const std::string missing = missing_function(variant.call); !missing.empty()) {
      return NotOffered{str_cat("there is no ", missing)};
    }
    return evaluate(variant.call, variables);
  }
  return NotOffered{reason};
}

}  // namespace remora::opinfo
