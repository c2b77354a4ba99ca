#include "tests/opinfo/getitem.h"

#include <algorithm>

#include "client/ops.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::opinfo {
namespace {

using bindings::Argument;
using List = Argument::List;

[[noreturn]] void refuse(const Argument& index) {
  throw Error(absl::InvalidArgumentError(str_cat("getitem: an index ", index.str())));
}

const int64_t* integer(const Argument& index) { return index.get_if<int64_t>(); }

bool is_text(const Argument& argument, std::string_view text) {
  const auto* value = argument.get_if<std::string>();
  return value != nullptr && *value == text;
}
bool is_slice(const Argument& index) {
  const auto* list = index.get_if<List>();
  return list != nullptr && list->size() == 4 && is_text(list->front(), "slice");
}
bool is_index_list(const Argument& index) {
  const auto* list = index.get_if<List>();
  return list != nullptr && !list->empty() &&
         std::ranges::all_of(*list, [](const Argument& one) { return integer(one) != nullptr; });
}

Tensor index_of(const Argument& index, const Device& device) {
  if (const int64_t* value = integer(index)) return from_data(std::vector{*value}, {}, device);
  std::vector<int64_t> values;
  for (const Argument& element : *index.get_if<List>()) values.push_back(*integer(element));
  const auto count = static_cast<int64_t>(values.size());
  return from_data(values, {count}, device);
}

Tensor sliced(const Tensor& x, int64_t axis, const List& bounds) {
  const auto bound = [&](size_t i) {
    const int64_t* value = integer(bounds[i]);
    return value == nullptr ? std::nullopt : std::optional(*value);
  };
  return slice(x, axis, bound(1), bound(2), bound(3).value_or(1));
}

/// The tuple's entries, one for each axis: an ellipsis stands for whole slices.
std::vector<Argument> entries_of(const Argument& index, int64_t rank) {
  std::vector<Argument> entries;
  const auto* list = index.get_if<List>();
  const bool tuple =
      list != nullptr && !is_slice(index) && !(is_index_list(index) && list->size() == 2);
  if (!tuple) return {index};
  const Argument whole = List{std::string("slice"), Argument(), Argument(), Argument()};
  for (const Argument& entry : *list) {
    if (!is_text(entry, "ellipsis")) {
      entries.push_back(entry);
      continue;
    }
    const int64_t missing = rank - static_cast<int64_t>(list->size()) + 1;
    for (int64_t i = 0; i < missing; ++i) entries.push_back(whole);
  }
  return entries;
}

}  // namespace

Tensor getitem(const Tensor& x, const Argument& argument) {
  Tensor result = x;
  const std::vector<Argument> entries = entries_of(argument, x.rank());
  const bool advanced = std::ranges::any_of(entries, is_index_list);
  std::vector<Tensor> indices;
  int64_t axis = 0;
  for (const Argument& entry : entries) {
    if (is_slice(entry)) {
      result = sliced(result, axis++, *entry.get_if<List>());
      indices.emplace_back();
    } else if (integer(entry) != nullptr && !advanced) {
      result = select(result, axis, *integer(entry));
    } else if (integer(entry) != nullptr || is_index_list(entry)) {
      indices.push_back(index_of(entry, x.device().without_autodiff()));
      ++axis;
    } else {
      refuse(entry);
    }
  }
  return advanced ? index(result, indices) : result;
}

}  // namespace remora::opinfo
