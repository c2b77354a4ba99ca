// The loops behind every elementwise row of the catalogue. A row's expression is a struct with a
// template `apply`; one loop over neighbouring elements is compiled for each type it computes in,
// and whatever lies otherwise in memory is staged row by row (fused.h).
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/element.h"
#include "kernels/cpu/fused.h"
#include "kernels/cpu/kernel.h"
#include "kernels/expr_prelude/cpu_bits.h"
#include "kernels/expr_prelude/cpu_division.h"
#include "kernels/expr_prelude/cpu_special.h"

namespace remora::cpu {

// The result columns of the catalogue.
enum class Result : uint8_t { kSame, kTruth };

template <typename Stored, Result result>
using ResultElement = std::conditional_t<result == Result::kTruth, bool, Stored>;

/// Comparisons give bool or, like every expression on booleans, 0 or 1.
template <typename Stored, Result result, typename Value>
ResultElement<Stored, result> store(Value value) {
  if constexpr (result == Result::kTruth) {
    return static_cast<bool>(value);
  } else {
    return Element<Stored>::store(static_cast<typename Element<Stored>::Compute>(value));
  }
}

/// True for expressions that also take an `Angle`.
template <typename Expression>
inline constexpr bool kTakesAngles = false;

template <typename Expression, typename Stored, Result result>
struct UnaryLoop {
  using Target = ResultElement<Stored, result>;

  static void run(const std::array<const std::byte*, 3>& operands, std::byte* out, int64_t count) {
    const auto* x = reinterpret_cast<const Stored*>(operands[0]);
    auto* target = reinterpret_cast<Target*>(out);
    if constexpr (kTakesAngles<Expression>) {
      run_angles(x, target, count);
    } else {
      run_each(x, target, count, [](auto value) { return value; });
    }
  }

 private:
  template <typename Wrap>
  static void run_each(const Stored* __restrict x, Target* __restrict target, int64_t count,
                       Wrap wrap) {
    for (int64_t i = 0; i < count; ++i) {
      target[i] = store<Stored, result>(Expression::apply(wrap(Element<Stored>::load(x[i]))));
    }
  }

  /// Parts that are angles throughout are run as such.
  static void run_angles(const Stored* x, Target* target, int64_t count) {
    using Compute = typename Element<Stored>::Compute;
    constexpr int64_t kPart = 256;
    for (int64_t begin = 0; begin < count; begin += kPart) {
      const int64_t size = std::min(kPart, count - begin);
      int outside = 0;
      for (int64_t i = begin; i < begin + size; ++i) {
        outside |= Angle<Compute>::holds(Element<Stored>::load(x[i])) ? 0 : 1;
      }
      if (outside == 0) {
        run_each(x + begin, target + begin, size,
                 [](Compute value) { return Angle<Compute>{value}; });
      } else {
        run_each(x + begin, target + begin, size, [](Compute value) { return value; });
      }
    }
  }
};

template <typename Expression, typename Stored, Result result>
struct BinaryLoop {
  static void run(const std::array<const std::byte*, 3>& operands, std::byte* out, int64_t count) {
    using Type = Element<Stored>;
    const auto* __restrict x = reinterpret_cast<const Stored*>(operands[0]);
    const auto* __restrict y = reinterpret_cast<const Stored*>(operands[1]);
    auto* __restrict target = reinterpret_cast<ResultElement<Stored, result>*>(out);
    for (int64_t i = 0; i < count; ++i) {
      target[i] = store<Stored, result>(Expression::apply(Type::load(x[i]), Type::load(y[i])));
    }
  }
};

/// The first operand is bool, the others are `Stored`.
template <typename Expression, typename Stored>
struct TernaryLoop {
  static void run(const std::array<const std::byte*, 3>& operands, std::byte* out, int64_t count) {
    using Type = Element<Stored>;
    const auto* __restrict c = reinterpret_cast<const uint8_t*>(operands[0]);
    const auto* __restrict x = reinterpret_cast<const Stored*>(operands[1]);
    const auto* __restrict y = reinterpret_cast<const Stored*>(operands[2]);
    auto* __restrict target = reinterpret_cast<Stored*>(out);
    for (int64_t i = 0; i < count; ++i) {
      target[i] = Type::store(Expression::apply(c[i] != 0, Type::load(x[i]), Type::load(y[i])));
    }
  }
};

/// The loop for operands of `dtype`, f32's for 16-bit floats; only the types of the row's set are
/// compiled. Null for any other.
template <template <typename> typename Loop, dispatch::DTypeSet dtypes>
ElementLoop element_loop(DType dtype) {
  ElementLoop loop = nullptr;
  (void)with_type(is_half(dtype) ? DType::kF32 : dtype, [&]<typename T>() {
    constexpr bool kHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
    constexpr auto kSet = std::is_floating_point_v<T> ? dispatch::kFloats
                          : std::is_same_v<T, bool>   ? dispatch::kBools
                                                      : dispatch::kIntegers;
    if constexpr (!kHalf && (dtypes & kSet) != 0) loop = &Loop<T>::run;
    return absl::OkStatus();
  });
  return loop;
}

/// The loops of the rows with one, two and three operands; null for any other row.
ElementLoop unary_loop(dispatch::OpCode code, DType dtype);
ElementLoop binary_loop(dispatch::OpCode code, DType dtype);
ElementLoop ternary_loop(dispatch::OpCode code, DType dtype);

/// The rows whose integer y must not be 0.
constexpr bool divides(dispatch::OpCode code) {
  return code == dispatch::OpCode::fmod || code == dispatch::OpCode::remainder ||
         code == dispatch::OpCode::floor_divide;
}

/// Runs a loop over all elements of `call`, whose operands broadcast to its output.
absl::Status run_elementwise(const KernelCall& call, ElementLoop loop);

}  // namespace remora::cpu
