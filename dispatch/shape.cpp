#include "dispatch/shape.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora {

int64_t Shape::numel() const {
  int64_t count = 1;
  for (const int64_t size : sizes_) count *= size;
  return count;
}

std::string Shape::str() const { return str_cat("[", absl::StrJoin(sizes_, ", "), "]"); }

std::string Spec::str() const { return str_cat(dtype_name(dtype), shape.str()); }

absl::Status check_shape(const Shape& shape) {
  if (shape.rank() > dispatch::kMaxRank) {
    return absl::InvalidArgumentError(
        str_cat("rank ", shape.rank(), " exceeds the limit of ", dispatch::kMaxRank, " axes"));
  }
  int64_t count = 1;
  for (const int64_t size : shape.sizes()) {
    if (size < 0) {
      return absl::InvalidArgumentError(str_cat("shape ", shape.str(), " has a negative size"));
    }
    if (size == 0) continue;
    // Sizes beside a zero count too: strides are products of them.
    if (size > dispatch::kMaxElements / count) {
      return absl::InvalidArgumentError(str_cat("shape ", shape.str(), " exceeds the limit of ",
                                                dispatch::kMaxElements, " elements"));
    }
    count *= size;
  }
  return absl::OkStatus();
}

Dims contiguous_strides(const Shape& shape) {
  Dims strides(shape.sizes().size());
  int64_t stride = 1;
  for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

absl::StatusOr<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const int64_t rank = std::max(a.rank(), b.rank());
  Shape result{Dims(static_cast<size_t>(rank))};
  for (int64_t i = 1; i <= rank; ++i) {
    const int64_t size_a = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t size_b = i <= b.rank() ? b[b.rank() - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      return absl::InvalidArgumentError(
          str_cat("shapes do not broadcast: ", a.str(), " and ", b.str()));
    }
    result[rank - i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

}  // namespace remora
