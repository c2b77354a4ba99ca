// The bound on lists that a function computes on the host before it hands them to a device: indices
// of windows, weights of a resampling.
#pragma once

#include <cstdint>
#include <string_view>

#include "client/apply.h"
#include "client/limits.h"
#include "dispatch/str_cat.h"

namespace remora {

/// INVALID_ARGUMENT naming the function if rows x columns elements are more than limits.h allows.
inline void check_host_list(std::string_view function, int64_t rows, int64_t columns) {
  if (rows <= 0 || columns <= 0 || rows <= kMaxHostListElements / columns) return;
  refuse(function, str_cat("needs ", rows, " x ", columns, " indices or weights, the limit is ",
                           kMaxHostListElements));
}

}  // namespace remora
