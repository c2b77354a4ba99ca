// Comparing results: bit for bit, or with the slow reference within a stated error.
#pragma once

#include <string>
#include <vector>

#include "dispatch/buffer.h"
#include "tests/reference/array.h"

namespace remora::test {

/// What an element may differ by from the reference: `ulps` units in the last place of the dtype it
/// is computed in (f32 for f16 and bf16), plus `relative` of the sum of magnitudes behind it, plus
/// `absolute`, plus one rounding to its own dtype. All zero: equal to the reference rounded to its
/// dtype. NaN equals NaN, and both zeros are equal.
struct Tolerance {
  double ulps = 0.0;
  double relative = 0.0;
  double absolute = 0.0;
};

/// Empty if `actual` is `expected` within `tolerance`; else the first element that is not, for
/// people. `magnitudes` is looked at if `tolerance.relative` is not 0.
std::string difference(const dispatch::HostData& actual, const reference::Array& expected,
                       const Tolerance& tolerance, const reference::Array* magnitudes = nullptr);

/// Empty if Spec and bytes are equal; else the first element that differs.
std::string bit_difference(const dispatch::HostData& actual, const dispatch::HostData& expected);

}  // namespace remora::test
