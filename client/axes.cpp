#include "client/axes.h"

#include <algorithm>

#include "dispatch/str_cat.h"

namespace remora {

Dims normalize_axes(std::string_view function, const Axes& axes, int64_t rank) {
  Dims result;
  if (axes.all()) {
    for (int64_t axis = 0; axis < rank; ++axis) result.push_back(axis);
    return result;
  }
  for (const int64_t axis : axes.list()) {
    if (rank == 0) {
      normalize_axis(function, axis, 1);
    } else {
      result.push_back(normalize_axis(function, axis, rank));
    }
  }
  std::sort(result.begin(), result.end());
  for (size_t i = 1; i < result.size(); ++i) {
    if (result[i] == result[i - 1])
      refuse(function, str_cat("axis ", result[i], " is named twice"));
  }
  return result;
}

}  // namespace remora
