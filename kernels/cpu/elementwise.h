// The loops behind every elementwise row of the catalogue. A row's expression is a struct with a
// template `apply`; the loops call it with the prelude's types and are compiled once for each
// element type and for the common layouts, so that the compiler vectorises them.
#pragma once

#include "kernels/cpu/strided.h"
#include "kernels/expr_prelude/cpu.h"
#include "kernels/expr_prelude/cpu_bits.h"
#include "kernels/expr_prelude/cpu_special.h"

namespace remora::cpu {

/// How an element is stored and what it is computed in.
template <typename Stored>
struct Element {
  using Compute = Stored;
  static Compute load(Stored x) { return x; }
  static Stored store(Compute x) { return x; }
};
template <>
struct Element<int64_t> {
  using Compute = Wrapping;
  static Compute load(int64_t x) { return Wrapping(x); }
  static int64_t store(Compute x) { return static_cast<int64_t>(x); }
};

// The result columns of the catalogue.
enum class Result : uint8_t { kSame, kTruth };

/// Estimated time of one element of an elementwise op on one thread.
inline constexpr double kElementwiseNs = 0.8;

template <typename Expression, typename Stored, Result result>
struct UnaryLoop {
  using Compute = typename Element<Stored>::Compute;
  using Out = std::conditional_t<result == Result::kTruth, uint8_t, Stored>;

  static Out apply(Stored x) { return static_cast<Out>(Expression::apply(Compute(x))); }
  static void row(const Stored* __restrict x, int64_t stride, Out* __restrict out, int64_t count) {
    if (stride == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i * stride]);
    }
  }
  static absl::Status run(const KernelCall& call) {
    const auto nest = broadcast_nest<1>(call.out().sizes, {&call.in(0)});
    const auto* x = call.in(0).as<const Stored>();
    Out* out = call.out().as<Out>();
    const int64_t stride = nest.inner_strides()[0];
    for_blocks(call, nest.numel, kElementwiseNs, [&](int64_t begin, int64_t end) {
      for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
        row(x + offsets[0], stride, out + position, count);
      });
    });
    return absl::OkStatus();
  }
};

template <typename Expression, typename Stored, Result result>
struct BinaryLoop {
  using Compute = typename Element<Stored>::Compute;
  using Out = std::conditional_t<result == Result::kTruth, uint8_t, Stored>;

  static Out apply(Stored x, Stored y) {
    return static_cast<Out>(Expression::apply(Compute(x), Compute(y)));
  }
  static void row(const Stored* __restrict x, const Stored* __restrict y,
                  const std::array<int64_t, 2>& strides, Out* __restrict out, int64_t count) {
    if (strides[0] == 1 && strides[1] == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], y[i]);
    } else if (strides[0] == 1 && strides[1] == 0) {
      const Stored scalar = *y;
      for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], scalar);
    } else if (strides[0] == 0 && strides[1] == 1) {
      const Stored scalar = *x;
      for (int64_t i = 0; i < count; ++i) out[i] = apply(scalar, y[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i * strides[0]], y[i * strides[1]]);
    }
  }
  static absl::Status run(const KernelCall& call) {
    const auto nest = broadcast_nest<2>(call.out().sizes, {&call.in(0), &call.in(1)});
    const auto* x = call.in(0).as<const Stored>();
    const auto* y = call.in(1).as<const Stored>();
    Out* out = call.out().as<Out>();
    const auto& strides = nest.inner_strides();
    for_blocks(call, nest.numel, kElementwiseNs, [&](int64_t begin, int64_t end) {
      for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
        row(x + offsets[0], y + offsets[1], strides, out + position, count);
      });
    });
    return absl::OkStatus();
  }
};

/// The first operand is bool, the others are `Stored`.
template <typename Expression, typename Stored>
struct TernaryLoop {
  using Compute = typename Element<Stored>::Compute;

  static Stored apply(uint8_t c, Stored x, Stored y) {
    return static_cast<Stored>(Expression::apply(c != 0, Compute(x), Compute(y)));
  }
  static void row(const uint8_t* __restrict c, const Stored* __restrict x,
                  const Stored* __restrict y, const std::array<int64_t, 3>& strides,
                  Stored* __restrict out, int64_t count) {
    if (strides[0] == 1 && strides[1] == 1 && strides[2] == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = apply(c[i], x[i], y[i]);
    } else if (strides[0] == 1 && strides[1] == 1 && strides[2] == 0) {
      const Stored scalar = *y;
      for (int64_t i = 0; i < count; ++i) out[i] = apply(c[i], x[i], scalar);
    } else if (strides[0] == 1 && strides[1] == 0 && strides[2] == 1) {
      const Stored scalar = *x;
      for (int64_t i = 0; i < count; ++i) out[i] = apply(c[i], scalar, y[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        out[i] = apply(c[i * strides[0]], x[i * strides[1]], y[i * strides[2]]);
      }
    }
  }
  static absl::Status run(const KernelCall& call) {
    const auto nest = broadcast_nest<3>(call.out().sizes, {&call.in(0), &call.in(1), &call.in(2)});
    const auto* c = call.in(0).as<const uint8_t>();
    const auto* x = call.in(1).as<const Stored>();
    const auto* y = call.in(2).as<const Stored>();
    Stored* out = call.out().as<Stored>();
    const auto& strides = nest.inner_strides();
    for_blocks(call, nest.numel, kElementwiseNs, [&](int64_t begin, int64_t end) {
      for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
        row(c + offsets[0], x + offsets[1], y + offsets[2], strides, out + position, count);
      });
    });
    return absl::OkStatus();
  }
};

/// Runs the loop of the operand's element type; only the types of the row's set are compiled.
template <template <typename> typename Loop, dispatch::DTypeSet dtypes>
absl::Status run_elementwise(const KernelCall& call, DType dtype) {
  if constexpr ((dtypes & dispatch::kFloats) != 0) {
    if (dtype == DType::kF32) return Loop<float>::run(call);
  }
  if constexpr ((dtypes & dispatch::kIntegers) != 0) {
    if (dtype == DType::kI64) return Loop<int64_t>::run(call);
  }
  if constexpr ((dtypes & dispatch::kBools) != 0) {
    if (dtype == DType::kBool) return Loop<uint8_t>::run(call);
  }
  return absl::UnimplementedError("cpu: no elementwise kernel for this element type");
}

}  // namespace remora::cpu
