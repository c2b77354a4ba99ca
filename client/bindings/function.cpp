#include "client/bindings/function.h"

#include <algorithm>

#include "client/bindings/binder.h"
#include "client/ops.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::bindings {
namespace {

using TensorPair = std::pair<Tensor, Tensor>;

Function make_row(std::string_view name, std::string_view parameters, size_t width,
                  Function::Call call, void (*target)()) {
  Function row{name, value_or_throw(Signature::parse(parameters)), call, target};
  const size_t count = row.signature.parameters().size();
  if (count != width) {
    throw Error(absl::InternalError(str_cat("functions.def: ", name, " has ", count,
                                            " parameters, but its C++ function takes ", width)));
  }
  return row;
}

template <typename Result, typename... Parameters>
Function make_row(std::string_view name, std::string_view parameters,
                  Result (*target)(Parameters...)) {
  using Bound = Binder<Result(Parameters...)>;
  return make_row(name, parameters, Bound::kWidth, &Bound::call,
                  reinterpret_cast<void (*)()>(target));
}

std::vector<Function> make_rows() {
  std::vector<Function> rows;
#define FUNCTION(name, parameters) rows.push_back(make_row(#name, parameters, &remora::name));
#define OVERLOAD(name, parameters, ...) \
  rows.push_back(                       \
      make_row(#name, parameters, static_cast<std::add_pointer_t<__VA_ARGS__>>(&remora::name)));
#include "client/bindings/functions.def"
#undef FUNCTION
#undef OVERLOAD
  // Overloads keep their order: it says which one is tried first.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Function& a, const Function& b) { return a.name < b.name; });
  return rows;
}

std::span<const Function> rows_of(std::string_view name) {
  const std::span<const Function> rows = functions();
  const auto begin =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [](const Function& row, auto wanted) { return row.name < wanted; });
  auto end = begin;
  while (end != rows.end() && end->name == name) ++end;
  return {begin, end};
}

absl::StatusOr<Argument> try_call(const Function& row, std::span<const Argument> positional,
                                  std::span<const NamedArgument> keywords) {
  REMORA_ASSIGN_OR_RETURN(const std::vector<Argument> arguments,
                          row.signature.bind(row.name, positional, keywords));
  return row.call(row, arguments);
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<Function> rows = make_rows();
  return rows;
}

bool has_function(std::string_view name) { return !rows_of(name).empty(); }

Argument call_function(std::string_view name, std::span<const Argument> positional,
                       std::span<const NamedArgument> keywords) {
  const std::span<const Function> rows = rows_of(name);
  if (rows.empty())
    throw Error(absl::NotFoundError(str_cat("there is no function \"", name, "\"")));
  std::string reasons;
  for (const Function& row : rows) {
    absl::StatusOr<Argument> result = try_call(row, positional, keywords);
    if (result.ok()) return *std::move(result);
    reasons += str_cat(reasons.empty() ? "" : "; or ", std::string(result.status().message()));
  }
  throw Error(absl::InvalidArgumentError(reasons));
}

}  // namespace remora::bindings
