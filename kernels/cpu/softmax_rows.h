// Maximum and sum of one row, as softmax and attention take them: over eight lanes, then their
// tree, so that the bits depend on the length alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/expr_prelude/cpu.h"

namespace remora::cpu {

inline constexpr int64_t kSoftmaxLanes = 8;

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

/// Eight running maxima of at least one element; NaN propagates.
template <typename T>
T max_row(const T* x, int64_t count) {
  T lanes[kSoftmaxLanes];
  std::fill_n(lanes, kSoftmaxLanes, x[0]);
  int64_t i = 0;
  for (; i + kSoftmaxLanes <= count; i += kSoftmaxLanes) {
    for (int64_t lane = 0; lane < kSoftmaxLanes; ++lane) {
      lanes[lane] = r_max(lanes[lane], x[i + lane]);
    }
  }
  for (; i < count; ++i) lanes[0] = r_max(lanes[0], x[i]);
  for (int64_t lane = 1; lane < kSoftmaxLanes; ++lane) lanes[0] = r_max(lanes[0], lanes[lane]);
  return lanes[0];
}

}  // namespace remora::cpu
