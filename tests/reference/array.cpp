#include "tests/reference/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace remora::reference {
namespace {

/// A 16-bit format: bits of exponent, with the bias that makes 1.0 the middle, and of mantissa.
struct Format {
  int exponent_bits, mantissa_bits;
  int lowest_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  int largest_exponent() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr Format kF16Format{5, 10};
constexpr Format kBf16Format{8, 7};

const Format& format_of(DType dtype) { return dtype == DType::kF16 ? kF16Format : kBf16Format; }

/// Distance between neighbours at |value|.
double spacing(const Format& format, double value) {
  const int exponent = value == 0.0 ? format.lowest_exponent() : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.lowest_exponent()) - format.mantissa_bits);
}

/// From the definition of the formats, in arithmetic that is exact in f64.
double round_to_format(const Format& format, double value) {
  if (!std::isfinite(value)) return value;
  const double unit = spacing(format, value);
  const double rounded = std::nearbyint(value / unit) * unit;
  const double limit = std::ldexp(1.0, format.largest_exponent() + 1);
  return std::fabs(rounded) >= limit ? std::copysign(INFINITY, value) : rounded;
}

uint16_t encode(const Format& format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = ((1 << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (infinity >> 1));
  const double rounded = std::fabs(round_to_format(format, value));
  if (std::isinf(rounded)) return static_cast<uint16_t>(sign | infinity);
  const double lowest = std::ldexp(1.0, format.lowest_exponent());
  if (rounded < lowest) return static_cast<uint16_t>(sign | int(rounded / spacing(format, 0.0)));
  const int exponent = std::ilogb(rounded);
  const int mantissa =
      static_cast<int>((std::ldexp(rounded, -exponent) - 1.0) * (1 << format.mantissa_bits));
  const int biased = exponent - format.lowest_exponent() + 1;
  return static_cast<uint16_t>(sign | biased << format.mantissa_bits | mantissa);
}

double decode(const Format& format, uint16_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int biased = (bits & 0x7FFF) >> format.mantissa_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (biased == (1 << format.exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
  if (biased == 0) return sign * mantissa * spacing(format, 0.0);
  return sign * std::ldexp((1 << format.mantissa_bits) + mantissa,
                           biased - 1 + format.lowest_exponent() - format.mantissa_bits);
}

template <typename T>
T load(std::span<const std::byte> bytes, size_t i) {
  T element;
  std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
void store(std::span<std::byte> bytes, size_t i, T element) {
  std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
}

}  // namespace

int64_t wrap_to(DType dtype, Integer value) {
  switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category)      \
  case DType::enumerator:                                       \
    if constexpr (std::is_integral_v<storage>) {                \
      return static_cast<int64_t>(static_cast<storage>(value)); \
    }                                                           \
    break;
#include "dispatch/dtypes.def"
#undef DTYPE
  }
  throw std::logic_error("reference: no integer dtype: " + std::string(dtype_name(dtype)));
}

double round_to(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  return round_to_format(format_of(dtype), value);
}

double ulp_of(DType dtype, double value) {
  const double magnitude = std::fabs(round_to(dtype, value));
  if (!std::isfinite(magnitude)) return 0.0;
  if (is_half(dtype)) return spacing(format_of(dtype), magnitude);
  if (dtype == DType::kF64) {
    return magnitude == std::numeric_limits<double>::max()
               ? std::ldexp(1.0, 971)
               : std::nextafter(magnitude, INFINITY) - magnitude;
  }
  const auto narrow = static_cast<float>(magnitude);
  const float above = std::nextafter(narrow, std::numeric_limits<float>::infinity());
  return std::isfinite(above) ? static_cast<double>(above) - magnitude : std::ldexp(1.0, 104);
}

Array::Array(Spec spec_in) : spec(std::move(spec_in)) {
  const auto count = static_cast<size_t>(spec.numel());
  if (is_real()) {
    reals.assign(count, 0.0);
  } else {
    integers.assign(count, 0);
  }
}

double Array::as_real(int64_t offset) const {
  const auto at = static_cast<size_t>(offset);
  return is_real() ? reals[at] : static_cast<double>(integer(at));
}

Integer Array::integer(size_t offset) const {
  const int64_t held = integers[offset];
  return spec.dtype == DType::kU64 ? Integer{static_cast<uint64_t>(held)} : Integer{held};
}

void Array::set_integer(size_t offset, Integer value) {
  integers[offset] = wrap_to(spec.dtype, value);
}

int64_t offset_of(const Shape& shape, const Dims& index) {
  int64_t offset = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    offset = offset * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return offset;
}

void for_each(const Shape& shape, const std::function<void(const Dims&, int64_t)>& visit) {
  Dims index(static_cast<size_t>(shape.rank()), 0);
  const int64_t count = shape.numel();
  for (int64_t offset = 0; offset < count; ++offset) {
    visit(index, offset);
    for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      int64_t& position = index[static_cast<size_t>(axis)];
      if (++position < shape[axis]) break;
      position = 0;
    }
  }
}

void copy_element(const Array& source, int64_t from, Array& target, int64_t to) {
  if (source.is_real()) {
    target.reals[static_cast<size_t>(to)] = source.reals[static_cast<size_t>(from)];
  } else {
    target.integers[static_cast<size_t>(to)] = source.integers[static_cast<size_t>(from)];
  }
}

Array broadcast(const Array& array, const Shape& shape) {
  Array result({array.spec.dtype, shape});
  const int64_t missing = shape.rank() - array.rank();
  for_each(shape, [&](const Dims& index, int64_t offset) {
    Dims from;
    for (int64_t axis = 0; axis < array.rank(); ++axis) {
      from.push_back(array.spec.shape[axis] == 1 ? 0 : index[static_cast<size_t>(missing + axis)]);
    }
    copy_element(array, offset_of(array.spec.shape, from), result, offset);
  });
  return result;
}

dispatch::HostData to_host(const Array& array) {
  const DType dtype = array.spec.dtype;
  return dispatch::HostData::make(array.spec, [&](std::span<std::byte> out) {
    for (size_t i = 0; i < static_cast<size_t>(array.numel()); ++i) {
      if (is_half(dtype)) {
        store(out, i, encode(format_of(dtype), array.reals[i]));
        continue;
      }
      switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category)    \
  case DType::enumerator:                                     \
    if constexpr (std::is_integral_v<storage>) {              \
      store(out, i, static_cast<storage>(array.integers[i])); \
    } else {                                                  \
      store(out, i, static_cast<storage>(array.reals[i]));    \
    }                                                         \
    break;
#include "dispatch/dtypes.def"
#undef DTYPE
      }
    }
  });
}

Array from_host(const dispatch::HostData& data) {
  Array array(data.spec);
  const DType dtype = data.spec.dtype;
  for (size_t i = 0; i < static_cast<size_t>(array.numel()); ++i) {
    if (is_half(dtype)) {
      array.reals[i] = decode(format_of(dtype), load<uint16_t>(data.span(), i));
      continue;
    }
    switch (dtype) {
#define DTYPE(number, enumerator, name, storage, category)                     \
  case DType::enumerator:                                                      \
    if constexpr (std::is_integral_v<storage>) {                               \
      array.integers[i] = static_cast<int64_t>(load<storage>(data.span(), i)); \
    } else {                                                                   \
      array.reals[i] = static_cast<double>(load<storage>(data.span(), i));     \
    }                                                                          \
    break;
#include "dispatch/dtypes.def"
#undef DTYPE
    }
  }
  return array;
}

}  // namespace remora::reference
