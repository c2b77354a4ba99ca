#include "client/bindings/signature.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::bindings {
namespace {

std::string_view strip(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && absl::ascii_isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

/// Splits at commas outside brackets; no parts for blank text.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  if (strip(text).empty()) return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(strip(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(strip(text.substr(begin)));
  return parts;
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_enclosed(std::string_view text, char open, char close) {
  return text.size() >= 2 && text.front() == open && text.back() == close;
}

absl::StatusOr<Argument> parse_literal(std::string_view text) {
  if (text == "none") return Argument();
  if (text == "true") return Argument(true);
  if (text == "false") return Argument(false);
  if (is_enclosed(text, '\'', '\'')) return Argument(std::string(text.substr(1, text.size() - 2)));
  if (is_enclosed(text, '[', ']')) {
    Argument::List list;
    for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) {
      REMORA_ASSIGN_OR_RETURN(Argument element, parse_literal(part));
      list.push_back(std::move(element));
    }
    return Argument(std::move(list));
  }
  if (const auto dtype = dtype_from_name(text)) return Argument(*dtype);
  if (const auto integer = parse_number<int64_t>(text)) return Argument(*integer);
  if (const auto real = parse_number<double>(text)) return Argument(*real);
  return absl::InvalidArgumentError(str_cat("signature: cannot read the default ", text));
}

}  // namespace

absl::StatusOr<Signature> Signature::parse(std::string_view text) {
  Signature signature;
  for (std::string_view part : split_list(text)) {
    const size_t equals = part.find('=');
    std::string_view name = strip(part.substr(0, equals));
    Parameter parameter;
    if (!name.empty() && name.front() == '*') {
      if (signature.rest_) {
        return absl::InvalidArgumentError(str_cat("signature: two *parameters: ", text));
      }
      signature.rest_ = signature.parameters_.size();
      name.remove_prefix(1);
      parameter.default_value = Argument(Argument::List());
    } else if (equals != std::string_view::npos) {
      REMORA_ASSIGN_OR_RETURN(parameter.default_value,
                              parse_literal(strip(part.substr(equals + 1))));
    }
    if (name.empty()) {
      return absl::InvalidArgumentError(str_cat("signature: a parameter has no name: ", text));
    }
    parameter.name = name;
    signature.parameters_.push_back(std::move(parameter));
  }
  return signature;
}

absl::StatusOr<std::vector<Argument>> Signature::bind(
    std::string_view function, std::span<const Argument> positional,
    std::span<const NamedArgument> keywords) const {
  const size_t count = parameters_.size();
  std::vector<std::optional<Argument>> bound(count);
  size_t given = positional.size();
  if (rest_ && given > *rest_) {
    const std::span<const Argument> rest = positional.subspan(*rest_);
    const bool is_list = rest.size() == 1 && rest[0].get_if<Argument::List>() != nullptr;
    bound[*rest_] = is_list ? rest[0] : Argument(Argument::List(rest.begin(), rest.end()));
    given = *rest_;
  }
  if (given > count) {
    return absl::InvalidArgumentError(str_cat(function, ": takes at most ", count, " arguments (",
                                              str(), "), but ", given, " were given"));
  }
  for (size_t i = 0; i < given; ++i) bound[i] = positional[i];
  for (const auto& [name, value] : keywords) {
    size_t index = 0;
    while (index < count && parameters_[index].name != name) ++index;
    if (index == count) {
      return absl::InvalidArgumentError(
          str_cat(function, ": has no argument \"", name, "\"; its arguments are ", str()));
    }
    if (bound[index]) {
      return absl::InvalidArgumentError(
          str_cat(function, ": argument \"", name, "\" is given twice"));
    }
    bound[index] = value;
  }
  std::vector<Argument> arguments;
  arguments.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, default_value] = parameters_[i];
    if (!bound[i] && !default_value) {
      return absl::InvalidArgumentError(
          str_cat(function, ": argument \"", name, "\" is missing; its arguments are ", str()));
    }
    arguments.push_back(bound[i] ? *std::move(bound[i]) : *default_value);
  }
  return arguments;
}

std::string Signature::str() const {
  std::string text;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (i > 0) text += ", ";
    const auto& [name, default_value] = parameters_[i];
    if (i == rest_) {
      text += str_cat("*", name);
    } else {
      text += default_value ? str_cat(name, "=", default_value->str()) : name;
    }
  }
  return text;
}

}  // namespace remora::bindings
