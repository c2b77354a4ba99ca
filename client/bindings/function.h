// Calls of the library's public functions by name, with arguments whose types are known only at run
// time: what language bindings and files of calls need. The table is functions.def, one row per
// function; converting arguments and results is derived from the C++ signature. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/bindings/argument.h"
#include "client/bindings/signature.h"

namespace remora::bindings {

/// One row of functions.def. A function with several C++ overloads has several rows of one name.
struct Function {
  /// Converts one argument per parameter and calls. The status tells of arguments that are not what
  /// the parameters take; what the function itself throws passes through.
  using Call = absl::StatusOr<Argument> (*)(const Function&, std::span<const Argument>);

  std::string_view name;
  Signature signature;
  Call call = nullptr;
  void (*target)() = nullptr;  // the C++ function, whose type `call` knows
};

/// All rows, by name; overloads in the order of functions.def.
std::span<const Function> functions();
/// True if there is a function of that name.
bool has_function(std::string_view name);

/// Calls the first row of that name whose parameters fit. Throws NOT_FOUND for an unknown name,
/// INVALID_ARGUMENT naming function, argument and what would be right, and what the function
/// throws. A result of several tensors is a list.
Argument call_function(std::string_view name, std::span<const Argument> positional,
                       std::span<const NamedArgument> keywords = {});

}  // namespace remora::bindings
