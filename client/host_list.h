// Lists that a function computes on the host before it hands them to a device: indices of windows,
// weights of a resampling. Their bound, and their way there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "client/apply.h"
#include "client/limits.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"

namespace remora {

/// INVALID_ARGUMENT naming the function if rows x columns elements are more than limits.h allows.
inline void check_host_list(std::string_view function, int64_t rows, int64_t columns) {
  if (rows <= 0 || columns <= 0 || rows <= kMaxHostListElements / columns) return;
  refuse(function, str_cat("needs ", rows, " x ", columns, " indices or weights, the limit is ",
                           kMaxHostListElements));
}

/// The numbers in the dtype and on the device of `like`, untracked. They travel as f32 unless f64
/// is asked for: not every device has f64.
inline Tensor host_numbers(const std::vector<double>& numbers, const Shape& shape,
                           const Tensor& like) {
  const Device device = like.device().without_autodiff();
  if (like.dtype() == DType::kF64) return from_data(numbers, shape, device);
  const std::vector<float> narrow(numbers.begin(), numbers.end());
  return astype(from_data(narrow, shape, device), like.dtype());
}

}  // namespace remora
