#include "tests/support/comparison.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace remora::test {
namespace {

bool close(DType dtype, double actual, double expected, const Tolerance& tolerance,
           double magnitude) {
  if (std::isnan(expected)) return std::isnan(actual);
  const double rounded = reference::round_to(dtype, expected);
  const bool exact =
      tolerance.ulps == 0.0 && tolerance.relative == 0.0 && tolerance.absolute == 0.0;
  if (actual == rounded) return true;
  if (exact || !std::isfinite(actual) || !std::isfinite(rounded)) return false;
  const DType computed = is_half(dtype) ? DType::kF32 : dtype;
  const double allowed = tolerance.ulps * reference::ulp_of(computed, expected) +
                         0.5 * reference::ulp_of(dtype, expected) + tolerance.relative * magnitude +
                         tolerance.absolute;
  return std::fabs(actual - expected) <= allowed;
}

std::string mismatch(size_t element, double actual, double expected) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << "element " << element << " is " << actual << ", should be " << expected;
  return out.str();
}

}  // namespace

std::string difference(const dispatch::HostData& actual, const reference::Array& expected,
                       const Tolerance& tolerance, const reference::Array* magnitudes) {
  if (actual.spec != expected.spec) {
    return "is " + actual.spec.str() + ", should be " + expected.spec.str();
  }
  const reference::Array got = reference::from_host(actual);
  for (size_t i = 0; i < got.integers.size(); ++i) {
    if (got.integers[i] != expected.integers[i]) {
      return "element " + std::to_string(i) + " is " + std::to_string(got.integers[i]) +
             ", should be " + std::to_string(expected.integers[i]);
    }
  }
  for (size_t i = 0; i < got.reals.size(); ++i) {
    const double magnitude = magnitudes == nullptr ? 0.0 : magnitudes->reals[i];
    if (!close(actual.spec.dtype, got.reals[i], expected.reals[i], tolerance, magnitude)) {
      return mismatch(i, got.reals[i], expected.reals[i]);
    }
  }
  return "";
}

std::string bit_difference(const dispatch::HostData& actual, const dispatch::HostData& expected) {
  if (actual.spec != expected.spec) {
    return "is " + actual.spec.str() + ", should be " + expected.spec.str();
  }
  const auto bytes = actual.span();
  if (bytes.empty() || std::memcmp(bytes.data(), expected.span().data(), bytes.size()) == 0)
    return "";
  const auto size = static_cast<size_t>(dtype_size(actual.spec.dtype));
  size_t element = 0;
  while (std::memcmp(bytes.data() + element * size, expected.span().data() + element * size,
                     size) == 0) {
    ++element;
  }
  const auto at = static_cast<int64_t>(element);
  return "bits differ: " + mismatch(element, reference::from_host(actual).as_real(at),
                                    reference::from_host(expected).as_real(at));
}

}  // namespace remora::test
