#include "tests/support/comparison.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace remora::test {
namespace {

/// Distance from |value| to the next f32 above it.
double ulp_of(double value) {
  const float magnitude = std::fabs(static_cast<float>(value));
  if (!std::isfinite(magnitude)) return 0.0;
  const float above = std::nextafter(magnitude, std::numeric_limits<float>::infinity());
  if (!std::isfinite(above)) return std::ldexp(1.0, 104);
  return static_cast<double>(above) - static_cast<double>(magnitude);
}

bool close(double actual, double expected, const Tolerance& tolerance, double magnitude) {
  if (std::isnan(expected)) return std::isnan(actual);
  const auto rounded = static_cast<double>(static_cast<float>(expected));
  const bool exact =
      tolerance.ulps == 0.0 && tolerance.relative == 0.0 && tolerance.absolute == 0.0;
  if (actual == rounded) return true;
  if (exact || !std::isfinite(actual) || !std::isfinite(rounded)) return false;
  const double allowed = (tolerance.ulps + 0.5) * ulp_of(expected) +
                         tolerance.relative * magnitude + tolerance.absolute;
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
    if (!close(got.reals[i], expected.reals[i], tolerance, magnitude)) {
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
