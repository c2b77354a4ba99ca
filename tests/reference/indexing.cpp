// Gather and scatter. An index outside its axis is an error of the op.
#include "dispatch/error.h"
#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::AxisAttrs;

int64_t checked_index(const char* op, int64_t index, int64_t size) {
  if (index < 0 || index >= size) {
    throw Error(absl::InvalidArgumentError(std::string(op) + ": index " + std::to_string(index) +
                                           " is not in [0, " + std::to_string(size) + ")"));
  }
  return index;
}

Arrays gather(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto axis = static_cast<size_t>(std::get<AxisAttrs>(attrs).axis);
  const Array& x = inputs[0];
  const Array& chosen = inputs[1];
  Array result({x.spec.dtype, chosen.spec.shape});
  for_each(result.spec.shape, [&](const Dims& index, int64_t to) {
    Dims from = index;
    from[axis] = checked_index("gather", chosen.integers[static_cast<size_t>(to)],
                               x.spec.shape[static_cast<int64_t>(axis)]);
    copy_element(x, offset_of(x.spec.shape, from), result, to);
  });
  return {result};
}

Arrays scatter_add(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto axis = static_cast<size_t>(std::get<AxisAttrs>(attrs).axis);
  Array result = inputs[0];
  const Array& chosen = inputs[1];
  const Array& source = inputs[2];
  for_each(chosen.spec.shape, [&](const Dims& index, int64_t at) {
    Dims to = index;
    to[axis] = checked_index("scatter_add", chosen.integers[static_cast<size_t>(at)],
                             result.spec.shape[static_cast<int64_t>(axis)]);
    const auto target = static_cast<size_t>(offset_of(result.spec.shape, to));
    const auto added = static_cast<size_t>(offset_of(source.spec.shape, index));
    if (result.is_real()) {
      result.reals[target] += source.reals[added];
    } else {
      result.set_integer(target, result.integer(target) + source.integer(added));
    }
  });
  return {result};
}

}  // namespace

void add_indexing(Table& table) {
  table["gather"] = gather;
  table["scatter_add"] = scatter_add;
}

}  // namespace remora::reference
