#include "tests/opinfo/compare.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "dispatch/str_cat.h"

namespace remora::opinfo {
namespace {

template <typename T>
T load(const dispatch::HostData& data, int64_t index) {
  T value;
  std::memcpy(&value, data.bytes.get() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// f16 as f64; every f16 is one.
double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  double value = exponent == 0    ? std::ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                                  : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double load_float(const dispatch::HostData& data, int64_t index) {
  switch (data.spec.dtype) {
    case DType::kF64:
      return load<double>(data, index);
    case DType::kF16:
      return half_to_double(load<uint16_t>(data, index));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(data, index)) << 16);
    default:
      return load<float>(data, index);
  }
}

bool close(double actual, double expected, Tolerance tolerance) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string compare_floats(const dispatch::HostData& actual, const dispatch::HostData& expected,
                           Tolerance tolerance) {
  const int64_t count = expected.spec.numel();
  int64_t wrong = 0;
  int64_t first = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (close(load_float(actual, i), load_float(expected, i), tolerance)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  return str_cat(wrong, " of ", count, " elements differ, first element ", first, ": ",
                 load_float(actual, first), ", expected ", load_float(expected, first));
}

/// Integers and booleans: bytes are values. Shows up to eight bytes of the first difference.
std::string compare_exactly(const dispatch::HostData& actual, const dispatch::HostData& expected) {
  const int64_t size = dtype_size(expected.spec.dtype);
  for (int64_t i = 0; i < expected.spec.numel(); ++i) {
    const std::byte* a = actual.bytes.get() + i * size;
    const std::byte* b = expected.bytes.get() + i * size;
    if (std::memcmp(a, b, static_cast<size_t>(size)) == 0) continue;
    int64_t shown_a = 0;
    int64_t shown_b = 0;
    std::memcpy(&shown_a, a, static_cast<size_t>(size));
    std::memcpy(&shown_b, b, static_cast<size_t>(size));
    return str_cat("element ", i, " is ", shown_a, ", expected ", shown_b);
  }
  return "";
}

}  // namespace

Tolerance answer_tolerance(DType dtype) {
  const bool is_half = dtype == DType::kBF16 || dtype == DType::kF16;
  return is_half ? Tolerance{1.6e-2, 1e-3} : Tolerance{1e-4, 1e-5};
}

Tolerance gradient_tolerance(DType dtype) {
  const bool is_half = dtype == DType::kBF16 || dtype == DType::kF16;
  return is_half ? Tolerance{1.6e-2, 1e-3} : Tolerance{1e-3, 1e-4};
}

std::string compare(const dispatch::HostData& actual, const dispatch::HostData& expected,
                    Tolerance tolerance) {
  if (actual.spec != expected.spec) {
    return str_cat("is ", actual.spec.str(), ", expected ", expected.spec.str());
  }
  return is_float(expected.spec.dtype) ? compare_floats(actual, expected, tolerance)
                                       : compare_exactly(actual, expected);
}

}  // namespace remora::opinfo
