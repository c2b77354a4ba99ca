#include "kernels/cpu/rows.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/element.h"
#include "kernels/cpu/limits.h"

namespace remora::cpu {
namespace {

template <typename Half>
void widen_elements(const Half* source, int64_t stride, int64_t count, float* __restrict out) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = Element<Half>::load(source[i]);
  } else if (stride == 0) {
    std::fill_n(out, count, Element<Half>::load(*source));
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = Element<Half>::load(source[i * stride]);
  }
}

template <typename Half>
void narrow_elements(const float* __restrict source, int64_t count, Half* __restrict out) {
  for (int64_t i = 0; i < count; ++i) out[i] = Element<Half>::store(source[i]);
}

/// A conversion goes through one of four types that hold every value of its source and from which
/// one rounding, saturation or wrap gives the result: two short loops instead of one for each pair.
enum class Stage : uint8_t { kF32, kF64, kI64, kU64 };

Stage stage_of(DType from, DType to) {
  if (from == DType::kF64) return Stage::kF64;
  if (is_float(from)) return Stage::kF32;
  if (is_integer(to)) return Stage::kI64;  // bits: what the result does not hold falls away
  if (from == DType::kU64 || from == DType::kU32) return Stage::kU64;
  return from == DType::kI64 || from == DType::kI32 ? Stage::kI64 : Stage::kF32;
}

/// What does not fit 53 bits, as one that does and rounds to f16 or bf16 alike.
double sticky(uint64_t magnitude) {
  const bool wide = (magnitude >> 53) != 0;
  const uint64_t folded =
      (magnitude & ~uint64_t{0xFFF}) | ((magnitude & 0xFFF) != 0 ? uint64_t{0x800} : 0);
  return static_cast<double>(wide ? folded : magnitude);
}

/// x as an f64 that rounds to f16 or bf16 as x does.
double for_half(float x) { return static_cast<double>(x); }
double for_half(double x) { return x; }
double for_half(uint64_t x) { return sticky(x); }
double for_half(int64_t x) {
  const auto bits = static_cast<uint64_t>(x);
  return x < 0 ? -sticky(0 - bits) : sticky(bits);
}

template <typename To, typename From>
To saturate(From x) {
  using Limits = std::numeric_limits<To>;
  // One above the largest: a power of two, so exact.
  constexpr From kAbove = From{2} * static_cast<From>((Limits::max() >> 1) + 1);
  constexpr From kLowest = static_cast<From>(Limits::min());
  const bool inside = static_cast<bool>((x > kLowest) & (x < kAbove));
  const To truncated = static_cast<To>(inside ? x : From{0});
  const To low = x <= kLowest ? Limits::min() : truncated;
  return x >= kAbove ? Limits::max() : low;
}

template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_same_v<To, F16>) {
    if constexpr (std::is_same_v<From, float>) return {f32_to_f16(x)};
    return {f64_to_f16(for_half(x))};
  } else if constexpr (std::is_same_v<To, BF16>) {
    if constexpr (std::is_same_v<From, float>) return {f32_to_bf16(x)};
    return {f64_to_bf16(for_half(x))};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// True if a conversion from T may be staged in S.
template <typename S, typename T>
constexpr bool kStaged =
    std::is_same_v<S, double>     ? std::is_same_v<T, double>
    : std::is_same_v<S, uint64_t> ? std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>
    : std::is_same_v<S, int64_t>
        ? std::is_integral_v<T>
        : !std::is_same_v<T, double> && (!std::is_integral_v<T> || sizeof(T) <= 2);

template <typename S>
const S* load_stage(DType from, const std::byte* source, int64_t count, S* __restrict stage) {
  const S* loaded = stage;
  (void)with_type(from, [&]<typename T>() {
    const auto* elements = reinterpret_cast<const T*>(source);
    if constexpr (std::is_same_v<S, T>) {
      loaded = elements;
    } else if constexpr (kStaged<S, T> && (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)) {
      for (int64_t i = 0; i < count; ++i) stage[i] = Element<T>::load(elements[i]);
    } else if constexpr (kStaged<S, T>) {
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): an i8 is a number, not a character
      for (int64_t i = 0; i < count; ++i) stage[i] = static_cast<S>(elements[i]);
    }
    return absl::OkStatus();
  });
  return loaded;
}

template <typename S>
void convert_staged(DType from, const std::byte* source, DType to, int64_t count, std::byte* out) {
  S buffer[kRowElements];
  const S* __restrict stage = load_stage<S>(from, source, count, buffer);
  (void)with_type(to, [&]<typename T>() {
    T* __restrict elements = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) elements[i] = convert<T>(stage[i]);
    return absl::OkStatus();
  });
}

}  // namespace

void widen_row(DType from, const std::byte* source, int64_t stride, int64_t count, float* out) {
  if (from == DType::kF16) {
    widen_elements(reinterpret_cast<const F16*>(source), stride, count, out);
  } else {
    widen_elements(reinterpret_cast<const BF16*>(source), stride, count, out);
  }
}

void narrow_row(DType to, const float* source, int64_t count, std::byte* out) {
  if (to == DType::kF16) {
    narrow_elements(source, count, reinterpret_cast<F16*>(out));
  } else {
    narrow_elements(source, count, reinterpret_cast<BF16*>(out));
  }
}

void convert_row(DType from, const std::byte* source, DType to, int64_t count, std::byte* out) {
  switch (stage_of(from, to)) {
    case Stage::kF32:
      return convert_staged<float>(from, source, to, count, out);
    case Stage::kF64:
      return convert_staged<double>(from, source, to, count, out);
    case Stage::kI64:
      return convert_staged<int64_t>(from, source, to, count, out);
    case Stage::kU64:
      return convert_staged<uint64_t>(from, source, to, count, out);
  }
}

}  // namespace remora::cpu
