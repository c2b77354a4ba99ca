#include "kernels/cpu/reduce.h"

#include <cmath>
#include <limits>

#include "dispatch/error.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kReduceNs = 0.4;
constexpr int64_t kSumLanes = 8;
constexpr int64_t kExtremeLanes = 32;

/// f32 and what is computed in it, in f64.
template <typename T>
struct SumFloat {
  using Stored = T;
  static constexpr int64_t kLanes = kSumLanes;
  using Accumulator = double;
  static constexpr double kIdentity = 0.0;
  static double load(T x) { return static_cast<double>(Element<T>::load(x)); }
  static double combine(double a, double b) { return a + b; }
  static T finish(double a) {
    if constexpr (std::is_same_v<T, F16>) return {f64_to_f16(a)};
    if constexpr (std::is_same_v<T, BF16>) return {f64_to_bf16(a)};
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(a);
  }
};

/// f64 with the rounding errors kept beside the sum (Knuth's exact addition).
struct SumDouble {
  struct Accumulator {
    double sum, error;
  };
  using Stored = double;
  static constexpr int64_t kLanes = kSumLanes;
  static constexpr Accumulator kIdentity = {0.0, 0.0};
  static Accumulator load(double x) { return {x, 0.0}; }
  static Accumulator combine(Accumulator a, Accumulator b) {
    const double sum = a.sum + b.sum;
    const double part = sum - a.sum;
    const double error = (a.sum - (sum - part)) + (b.sum - part);
    return {sum, a.error + b.error + error};
  }
  /// The errors of an infinite sum are NaN and mean nothing.
  static double finish(Accumulator a) { return std::isfinite(a.sum) ? a.sum + a.error : a.sum; }
};

/// Of an unsigned type of the element's size: sums that wrap are the same for both signs.
template <typename T>
struct SumInteger {
  using Stored = T;
  static constexpr int64_t kLanes = kSumLanes;
  using Accumulator = uint64_t;
  static constexpr uint64_t kIdentity = 0;
  static uint64_t load(T x) { return x; }
  static uint64_t combine(uint64_t a, uint64_t b) { return a + b; }
  static T finish(uint64_t a) { return static_cast<T>(a); }
};

template <typename T>
struct Maximum {
  using Stored = T;
  static constexpr int64_t kLanes = kExtremeLanes;
  using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  static constexpr Accumulator kIdentity = std::numeric_limits<Accumulator>::has_infinity
                                               ? -std::numeric_limits<Accumulator>::infinity()
                                               : std::numeric_limits<Accumulator>::lowest();
  static Accumulator load(T x) {
    if constexpr (std::is_arithmetic_v<T>)
      return x;
    else
      return Element<T>::load(x);
  }
  static Accumulator combine(Accumulator a, Accumulator b) { return r_max(a, b); }
  static T finish(Accumulator a) {
    if constexpr (std::is_arithmetic_v<T>)
      return a;
    else
      return Element<T>::store(a);
  }
};

/// Products: of floats in f64, of integers wrapping.
template <typename T>
struct Product {
  using Stored = T;
  static constexpr int64_t kLanes = kSumLanes;
  using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  static constexpr Accumulator kIdentity = 1;
  static Accumulator load(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Accumulator>(x);
    } else {
      return static_cast<Accumulator>(Element<T>::load(x));
    }
  }
  static Accumulator combine(Accumulator a, Accumulator b) { return a * b; }
  static T finish(Accumulator a) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(a);
    } else {
      return Element<T>::store(static_cast<typename Element<T>::Compute>(a));
    }
  }
};

template <typename T>
struct Minimum {
  using Stored = T;
  static constexpr int64_t kLanes = kExtremeLanes;
  using Accumulator = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  static constexpr Accumulator kIdentity = std::numeric_limits<Accumulator>::has_infinity
                                               ? std::numeric_limits<Accumulator>::infinity()
                                               : std::numeric_limits<Accumulator>::max();
  static Accumulator load(T x) {
    if constexpr (std::is_arithmetic_v<T>) {
      return x;
    } else {
      return Element<T>::load(x);
    }
  }
  static Accumulator combine(Accumulator a, Accumulator b) { return r_min(a, b); }
  static T finish(Accumulator a) {
    if constexpr (std::is_arithmetic_v<T>) {
      return a;
    } else {
      return Element<T>::store(a);
    }
  }
};

/// A reduction seen as loops: over the outputs and over the reduced elements of one output.
struct Reduction {
  LoopNest<1> kept;     // row-major order of the outputs
  LoopNest<1> reduced;  // the order of combination
  bool inner_reduced = false;

  static Reduction of(const TensorView& view, const Dims& axes) {
    Reduction reduction;
    reduction.kept.push(1, {});
    reduction.reduced.push(1, {});
    size_t next = 0;
    for (int64_t axis = 0; axis < view.rank(); ++axis) {
      const bool is_reduced = next < axes.size() && axes[next] == axis;
      if (is_reduced) ++next;
      (is_reduced ? reduction.reduced : reduction.kept).push(view.size(axis), {view.stride(axis)});
      if (view.size(axis) != 1) reduction.inner_reduced = is_reduced;
    }
    return reduction;
  }
  int64_t chunk() const { return inner_reduced ? kReduceChunk : kReduceRows; }
  int64_t chunks() const { return std::max<int64_t>(1, (reduced.numel + chunk() - 1) / chunk()); }
};

/// Reduces one chunk of one output; `x` is the output's first element. Element i of the chunk goes
/// to accumulator i % kLanes, whatever the strides.
template <typename Op, int64_t kLanes>
typename Op::Accumulator reduce_lanes(const typename Op::Stored* x, const LoopNest<1>& reduced,
                                      int64_t begin, int64_t end) {
  using Accumulator = typename Op::Accumulator;
  Accumulator lanes[kLanes];
  std::fill_n(lanes, kLanes, Op::kIdentity);
  const int64_t stride = reduced.inner_strides()[0];
  for_rows(reduced, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
    const typename Op::Stored* __restrict row = x + offsets[0];
    const auto add = [&](int64_t i) {
      Accumulator& lane = lanes[(position - begin + i) % kLanes];
      lane = Op::combine(lane, Op::load(row[i * stride]));
    };
    int64_t i = 0;
    for (; i < count && (position - begin + i) % kLanes != 0; ++i) add(i);
    if (stride == 1) {
      Accumulator sums[kLanes];  // local: they stay in registers
      std::copy_n(lanes, kLanes, sums);
      for (; i + kLanes <= count; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane)
          sums[lane] = Op::combine(sums[lane], Op::load(row[i + lane]));
      }
      std::copy_n(sums, kLanes, lanes);
    }
    for (; i < count; ++i) add(i);
  });
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane)
      lanes[lane] = Op::combine(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

template <typename Op>
typename Op::Accumulator reduce_chunk(const typename Op::Stored* x, const LoopNest<1>& reduced,
                                      int64_t begin, int64_t end) {
  if (end - begin < 2 * Op::kLanes) return reduce_lanes<Op, kSumLanes>(x, reduced, begin, end);
  return reduce_lanes<Op, Op::kLanes>(x, reduced, begin, end);
}

/// Reduces one chunk of `count` outputs that lie `stride` apart; `x` is the first one's first
/// element.
template <typename Op>
void reduce_rows(const typename Op::Stored* x, int64_t stride, int64_t count,
                 const LoopNest<1>& reduced, int64_t begin, int64_t end,
                 typename Op::Accumulator* __restrict out) {
  std::fill_n(out, count, Op::kIdentity);
  const int64_t row_stride = reduced.inner_strides()[0];
  for_rows(reduced, begin, end, [&](const auto& offsets, int64_t, int64_t rows) {
    const typename Op::Stored* __restrict row = x + offsets[0];
    int64_t r = 0;
    if (stride == 1) {
      // Four rows at a time load and store each accumulator once; the order is that of one by one.
      for (; r + 4 <= rows; r += 4, row += 4 * row_stride) {
        for (int64_t j = 0; j < count; ++j) {
          auto sum = Op::combine(out[j], Op::load(row[j]));
          sum = Op::combine(sum, Op::load(row[row_stride + j]));
          sum = Op::combine(sum, Op::load(row[2 * row_stride + j]));
          out[j] = Op::combine(sum, Op::load(row[3 * row_stride + j]));
        }
      }
    }
    for (; r < rows; ++r, row += row_stride) {
      for (int64_t j = 0; j < count; ++j) out[j] = Op::combine(out[j], Op::load(row[j * stride]));
    }
  });
}

/// Computes the partial result of one chunk for outputs [first, first + count), which share all
/// kept axes but the innermost.
template <typename Op>
void reduce_outputs(const Reduction& shape, const typename Op::Stored* x, int64_t first,
                    int64_t count, int64_t chunk, typename Op::Accumulator* out) {
  const int64_t begin = chunk * shape.chunk();
  const int64_t end = std::min(shape.reduced.numel, begin + shape.chunk());
  const int64_t stride = shape.kept.inner_strides()[0];
  const typename Op::Stored* base = x + offsets_at(shape.kept, first)[0];
  if (!shape.inner_reduced)
    return reduce_rows<Op>(base, stride, count, shape.reduced, begin, end, out);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = reduce_chunk<Op>(base + i * stride, shape.reduced, begin, end);
  }
}

/// Tiles of outputs along the innermost kept axis.
struct Tiles {
  int64_t inner, width, per_row, count;
  explicit Tiles(const LoopNest<1>& kept)
      : inner(kept.inner_size()),
        width(std::min(inner, kReduceTile)),
        per_row((inner + width - 1) / width),
        count(kept.numel / inner * per_row) {}
  int64_t first(int64_t tile) const { return tile / per_row * inner + tile % per_row * width; }
  int64_t size(int64_t tile) const { return std::min(width, inner - tile % per_row * width); }
};

template <typename Op>
absl::Status reduce(const KernelCall& call) {
  using Accumulator = typename Op::Accumulator;
  const Reduction shape = Reduction::of(call.in(0), call.attributes<dispatch::ReduceAttrs>().axes);
  if (shape.kept.numel == 0) return absl::OkStatus();
  const auto* x = call.in(0).as<const typename Op::Stored>();
  auto* out = call.out().as<typename Op::Stored>();
  const Tiles tiles(shape.kept);
  const int64_t chunks = shape.chunks();
  const int64_t outputs = shape.kept.numel;
  Scratch scratch;
  if (chunks > 1) {
    REMORA_ASSIGN_OR_RETURN(
        scratch, call.scratch(outputs * chunks * static_cast<int64_t>(sizeof(Accumulator))));
  }
  auto* partials = scratch.as<Accumulator>();  // by chunk, then output

  const int64_t unit_work =
      std::max<int64_t>(1, tiles.width * std::min(shape.reduced.numel, shape.chunk()));
  const int64_t units = tiles.count * chunks;
  const int64_t per_block = std::max<int64_t>(1, kElementBlock / unit_work);
  const double cost =
      static_cast<double>(outputs) * static_cast<double>(shape.reduced.numel) * kReduceNs;
  call.parallel_for((units + per_block - 1) / per_block, cost, [&](int64_t block, int) {
    Accumulator tile_result[kReduceTile];
    for (int64_t unit = block * per_block; unit < std::min(units, (block + 1) * per_block);
         ++unit) {
      const int64_t tile = unit % tiles.count;
      const int64_t chunk = unit / tiles.count;
      const int64_t first = tiles.first(tile);
      const int64_t count = tiles.size(tile);
      Accumulator* result = chunks > 1 ? partials + chunk * outputs + first : tile_result;
      reduce_outputs<Op>(shape, x, first, count, chunk, result);
      if (chunks == 1) std::transform(result, result + count, out + first, Op::finish);
    }
  });
  if (chunks == 1) return absl::OkStatus();
  for (int64_t output = 0; output < outputs; ++output) {
    Accumulator total = partials[output];
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      total = Op::combine(total, partials[chunk * outputs + output]);
    }
    out[output] = Op::finish(total);
  }
  return absl::OkStatus();
}

}  // namespace

int64_t reduce_scratch_bytes(int64_t input_elements, int64_t output_elements) {
  if (output_elements == 0) return 0;
  const int64_t reduced = input_elements / output_elements;
  if (reduced <= kReduceRows) return 0;
  return output_elements * ((reduced + kReduceRows - 1) / kReduceRows) *
         static_cast<int64_t>(sizeof(SumDouble::Accumulator));
}

namespace kernels {

absl::Status sum(const KernelCall& call) {
  const DType dtype = call.in(0).dtype;
  switch (dtype) {
    case DType::kF32:
      return reduce<SumFloat<float>>(call);
    case DType::kF16:
      return reduce<SumFloat<F16>>(call);
    case DType::kBF16:
      return reduce<SumFloat<BF16>>(call);
    case DType::kF64:
      return reduce<SumDouble>(call);
    default:
      return with_bits(dtype, [&]<typename T>() { return reduce<SumInteger<T>>(call); });
  }
}

absl::Status amax(const KernelCall& call) {
  // A bool is a byte of 0 or 1.
  const DType dtype = call.in(0).dtype == DType::kBool ? DType::kU8 : call.in(0).dtype;
  return with_type(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>)
      return absl::OkStatus();
    else
      return reduce<Maximum<T>>(call);
  });
}

absl::Status amin(const KernelCall& call) {
  return with_type(call.in(0).dtype, [&]<typename T>() {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;  // a byte of 0 or 1
    return reduce<Minimum<Stored>>(call);
  });
}

absl::Status prod(const KernelCall& call) {
  return with_type(call.in(0).dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return absl::OkStatus();  // the catalogue has no such row
    } else {
      return reduce<Product<T>>(call);
    }
  });
}

}  // namespace kernels
}  // namespace remora::cpu
