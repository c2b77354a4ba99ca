// Call expressions of the PyTorch table: ["concat", "$tensors", {"axis": "$dim"}] and nested ones.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "client/bindings/argument.h"
#include "tests/opinfo/cases.h"

namespace remora::opinfo {

using Variables = absl::flat_hash_map<std::string, bindings::Argument>;

/// Checks the form of an expression and that it uses only builtins, `variables` and "device".
absl::Status check_expression(const Json& expression, const std::vector<std::string>& variables);

/// The first function that an expression calls and the library does not have; empty if there is
/// none.
std::string missing_function(const Json& expression);

/// Evaluates a checked expression whose functions exist. Throws what the calls throw.
bindings::Argument evaluate(const Json& expression, const Variables& variables);

}  // namespace remora::opinfo
