#include "tests/opinfo/call_expression.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "client/bindings/convert.h"
#include "client/bindings/function.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/getitem.h"
#include "tests/opinfo/limits.h"

namespace remora::opinfo {
namespace {

using bindings::Argument;
using bindings::NamedArgument;
using Arguments = std::vector<Argument>;

absl::Status bad(const std::string& what) { return absl::InvalidArgumentError(what); }

template <typename T>
const T& get(std::string_view builtin, const Arguments& arguments, size_t index) {
  const T* value = index < arguments.size() ? arguments[index].get_if<T>() : nullptr;
  if (value == nullptr) {
    throw Error(bad(str_cat(builtin, ": argument ", index, " is missing or of another type")));
  }
  return *value;
}

/// What the table needs besides the library's functions: facts about arguments, and lists.
struct Builtin {
  std::string_view name;
  Argument (*call)(const Arguments&);
};
constexpr Builtin kBuiltins[] = {
    {"list", [](const Arguments& arguments) { return Argument(arguments); }},
    {"item",
     [](const Arguments& arguments) {
       const auto& list = get<Argument::List>("item", arguments, 0);
       const auto index = static_cast<size_t>(get<int64_t>("item", arguments, 1));
       if (index >= list.size()) throw Error(bad(str_cat("item: there is no element ", index)));
       return list[index];
     }},
    {"shape_of",
     [](const Arguments& arguments) {
       return bindings::to_argument(get<Tensor>("shape_of", arguments, 0).shape());
     }},
    {"dtype_of",
     [](const Arguments& arguments) {
       return Argument(get<Tensor>("dtype_of", arguments, 0).dtype());
     }},
    // 1 for true, 0 for false: PyTorch's `unbiased` is our `correction`.
    {"number_of",
     [](const Arguments& arguments) {
       return Argument(int64_t{get<bool>("number_of", arguments, 0) ? 1 : 0});
     }},
    // [-2, -1] for a shape of two axes.
    {"last_axes",
     [](const Arguments& arguments) {
       const auto count =
           static_cast<int64_t>(get<Argument::List>("last_axes", arguments, 0).size());
       Argument::List axes;
       for (int64_t axis = -count; axis < 0; ++axis) axes.emplace_back(axis);
       return Argument(std::move(axes));
     }},
    // The integers of a tensor: one for rank 0, else a list.
    {"values_of",
     [](const Arguments& arguments) {
       const auto& tensor = get<Tensor>("values_of", arguments, 0);
       if (tensor.rank() == 0) return Argument(tensor.item<int64_t>());
       return bindings::to_argument(tensor.to_vector<int64_t>());
     }},
    // LAPACK's pivots (row i was swapped with row p[i], from 1) as the order of rows they make.
    {"order_of_pivots",
     [](const Arguments& arguments) {
       const auto& pivots = get<Tensor>("order_of_pivots", arguments, 0);
       std::vector<int64_t> order = pivots.astype(DType::kI64).to_vector<int64_t>();
       const auto rows = static_cast<size_t>(pivots.size(-1));
       for (size_t first = 0; rows > 0 && first < order.size(); first += rows) {
         const std::vector<int64_t> swaps(order.begin() + static_cast<int64_t>(first),
                                          order.begin() + static_cast<int64_t>(first + rows));
         std::iota(order.begin() + static_cast<int64_t>(first),
                   order.begin() + static_cast<int64_t>(first + rows), int64_t{0});
         for (size_t i = 0; i < rows; ++i) {
           std::swap(order[first + i], order.at(first + static_cast<size_t>(swaps[i]) - 1));
         }
       }
       return Argument(from_data(order, pivots.shape(), pivots.device()));
     }},
    // x[index].
    {"getitem",
     [](const Arguments& arguments) {
       return Argument(getitem(get<Tensor>("getitem", arguments, 0), arguments.at(1)));
     }},
    // The element of a list of one; anything else as it is: PyTorch takes both for one-dimensional
    // windows.
    {"unwrap",
     [](const Arguments& arguments) {
       const auto* list = arguments.at(0).get_if<Argument::List>();
       return list != nullptr && list->size() == 1 ? list->front() : arguments.at(0);
     }},
};

const Builtin* find_builtin(std::string_view name) {
  const auto found = std::find_if(std::begin(kBuiltins), std::end(kBuiltins),
                                  [&](const Builtin& builtin) { return builtin.name == name; });
  return found == std::end(kBuiltins) ? nullptr : &*found;
}

/// "x" of "$x".
std::optional<std::string> variable_name(const Json& expression) {
  if (!expression.is_string()) return std::nullopt;
  const auto& text = expression.get_ref<const std::string&>();
  if (text.empty() || text.front() != '$') return std::nullopt;
  return text.substr(1);
}

absl::Status check(const Json& expression, const std::vector<std::string>& variables, int depth) {
  if (depth == 0) return bad(str_cat("calls nest deeper than ", kMaxCallDepth, " levels"));
  if (const auto name = variable_name(expression)) {
    const bool known = *name == "device" ||
                       std::find(variables.begin(), variables.end(), *name) != variables.end();
    return known ? absl::OkStatus() : bad(str_cat("unknown variable $", *name));
  }
  if (expression.is_primitive()) return absl::OkStatus();
  if (!expression.is_array() || expression.empty() || !expression[0].is_string()) {
    return bad(str_cat("not a call: ", expression.dump()));
  }
  for (size_t i = 1; i < expression.size(); ++i) {
    const Json& argument = expression[i];
    if (!argument.is_object()) {
      REMORA_RETURN_IF_ERROR(check(argument, variables, depth - 1));
      continue;
    }
    if (i + 1 != expression.size()) return bad("keyword arguments must come last");
    for (const Json& value : argument) REMORA_RETURN_IF_ERROR(check(value, variables, depth - 1));
  }
  return absl::OkStatus();
}

Argument literal(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return Argument();
}

Argument call(const Json& expression, const Variables& variables) {
  const auto& name = expression[0].get_ref<const std::string&>();
  Arguments positional;
  std::vector<NamedArgument> keywords;
  for (size_t i = 1; i < expression.size(); ++i) {
    if (!expression[i].is_object()) {
      positional.push_back(evaluate(expression[i], variables));
      continue;
    }
    for (const auto& [keyword, value] : expression[i].items()) {
      Argument argument = evaluate(value, variables);
      if (!argument.is_none()) keywords.push_back({keyword, std::move(argument)});
    }
  }
  if (const Builtin* builtin = find_builtin(name)) return builtin->call(positional);
  return bindings::call_function(name, positional, keywords);
}

}  // namespace

absl::Status check_expression(const Json& expression, const std::vector<std::string>& variables) {
  return check(expression, variables, kMaxCallDepth);
}

std::string missing_function(const Json& expression) {
  if (!expression.is_array() && !expression.is_object()) return "";
  if (expression.is_array()) {
    const auto& name = expression[0].get_ref<const std::string&>();
    if (find_builtin(name) == nullptr && !bindings::has_function(name)) return name;
  }
  for (const Json& argument : expression) {
    if (std::string name = missing_function(argument); !name.empty()) return name;
  }
  return "";
}

Argument evaluate(const Json& expression, const Variables& variables) {
  if (const auto name = variable_name(expression)) return variables.at(*name);
  return expression.is_array() ? call(expression, variables) : literal(expression);
}

}  // namespace remora::opinfo
