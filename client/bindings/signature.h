// Signature: the parameters of a function that is called dynamically, parsed from text such as
//     x, axis=none, keepdims=false
// and the rule that binds positional and keyword arguments to them. Immutable; any thread may call
// it.
//
// A default is `none`, `true`, `false`, a number, 'text', an element type (`f32`) or a list `[1,
// 1]`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/bindings/argument.h"

namespace remora::bindings {

struct Parameter {
  std::string name;
  std::optional<Argument> default_value;
};

class Signature {
 public:
  Signature() = default;
  /// INVALID_ARGUMENT names what cannot be parsed. A parameter written `*name` takes all remaining
  /// positional arguments as a list; one list given there is that list. Those after it are given by
  /// name only.
  static absl::StatusOr<Signature> parse(std::string_view text);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// One argument per parameter, in order. INVALID_ARGUMENT, naming `function`, for too many
  /// arguments, an unknown name, an argument given twice and one that is missing.
  absl::StatusOr<std::vector<Argument>> bind(std::string_view function,
                                             std::span<const Argument> positional,
                                             std::span<const NamedArgument> keywords) const;
  /// "x, axis=none, keepdims=false".
  std::string str() const;

 private:
  std::vector<Parameter> parameters_;
  std::optional<size_t> rest_;  // index of the *parameter
};

}  // namespace remora::bindings
