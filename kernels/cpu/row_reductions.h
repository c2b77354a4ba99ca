// Extreme and sum of one row of neighbours: over lanes, then their tree, so that the bits depend on
// the length alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

inline constexpr int64_t kSoftmaxLanes = 8;
inline constexpr int64_t kExtremeRowLanes = 32;

/// Sum in f64 over eight accumulators, then their tree.
template <typename T>
double sum_row(const T* x, int64_t count) {
  double lanes[kSoftmaxLanes] = {};
  int64_t i = 0;
  for (; i + kSoftmaxLanes <= count; i += kSoftmaxLanes) {
    for (int64_t lane = 0; lane < kSoftmaxLanes; ++lane) {
      lanes[lane] += static_cast<double>(x[i + lane]);
    }
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += static_cast<double>(x[i]);
  for (int64_t width = kSoftmaxLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

/// The largest, or smallest, of at least one element; NaN propagates.
template <bool kSmallest = false, typename T>
T extreme_row(const T* x, int64_t count) {
  const auto further = [](T a, T b) { return kSmallest ? r_min(a, b) : r_max(a, b); };
  T lanes[kExtremeRowLanes];
  std::fill_n(lanes, kExtremeRowLanes, x[0]);
  int64_t i = 0;
  for (; i + kExtremeRowLanes <= count; i += kExtremeRowLanes) {
    for (int64_t lane = 0; lane < kExtremeRowLanes; ++lane)
      lanes[lane] = further(lanes[lane], x[i + lane]);
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] = further(lanes[lane], x[i]);
  for (int64_t width = kExtremeRowLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane)
      lanes[lane] = further(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

}  // namespace remora::cpu
