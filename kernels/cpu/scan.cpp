// Running sums, products and extremes along one axis. The axis is cut into chunks by its length
// alone: a first pass gives each chunk's total, a second runs through each chunk from the combined
// totals before it. Neighbouring lines run side by side.
#include <vector>

#include "dispatch/error.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/order.h"
#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kScanNs = 1.5;

/// A running sum or product: of floats in f64, of integers wrapping.
template <typename T, bool kProduct>
struct Running {
  using Stored = T;
  using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  static constexpr Accumulator identity() { return kProduct ? 1 : 0; }
  static Accumulator load(T x, int64_t) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Accumulator>(x);
    } else {
      return static_cast<Accumulator>(Element<T>::load(x));
    }
  }
  static Accumulator combine(Accumulator a, Accumulator b) { return kProduct ? a * b : a + b; }
  struct Target {
    T* __restrict values;
    explicit Target(const KernelCall& call) : values(call.out().as<T>()) {}
    void store(Accumulator a, int64_t position) const {
      if constexpr (std::is_integral_v<T>) {
        values[position] = static_cast<T>(a);
      } else {
        values[position] = Element<T>::store(static_cast<typename Element<T>::Compute>(a));
      }
    }
  };
};

/// A running extreme and the last index that has it; the last NaN wins over everything.
template <typename T, bool kSmallest>
struct RunningExtreme {
  using Stored = T;
  using Compute = typename Element<T>::Compute;
  struct Accumulator {
    T value;
    int64_t index;  // -1: nothing yet
  };
  static constexpr Accumulator identity() { return {T{}, -1}; }
  static Accumulator load(T x, int64_t index) { return {x, index}; }
  static Accumulator combine(const Accumulator& a, const Accumulator& b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    const Compute before = Element<T>::load(a.value);
    const Compute after = Element<T>::load(b.value);
    const bool takes =
        after != after || (before == before && (kSmallest ? after <= before : after >= before));
    return takes ? b : a;
  }
  struct Target {
    T* __restrict values;
    int64_t* __restrict indices;
    explicit Target(const KernelCall& call)
        : values(call.out(0).as<T>()), indices(call.out(1).as<int64_t>()) {}
    void store(const Accumulator& a, int64_t position) const {
      values[position] = a.value;
      indices[position] = a.index;
    }
  };
};

/// Row-major data seen as [outer, size, inner], cut into chunks of the axis and tiles of `inner`.
struct ScanShape {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t chunks, tiles;
  ScanShape(std::span<const int64_t> sizes, int64_t axis) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      (at < axis ? outer : at == axis ? size : inner) *= sizes[i];
    }
    chunks = (size + kScanChunk - 1) / kScanChunk;
    tiles = (inner + kReduceTile - 1) / kReduceTile;
  }
  int64_t lines() const { return outer * inner; }
};

/// One chunk of one tile of lines.
struct ScanUnit {
  int64_t first;  // position of its first element
  int64_t index;  // of that element along the axis
  int64_t length, width;
  int64_t line;  // of its first line
  int64_t chunk;

  ScanUnit(const ScanShape& shape, int64_t unit) {
    const int64_t tile = unit % shape.tiles;
    chunk = unit / shape.tiles % shape.chunks;
    const int64_t outer = unit / shape.tiles / shape.chunks;
    index = chunk * kScanChunk;
    length = std::min(kScanChunk, shape.size - index);
    width = std::min(kReduceTile, shape.inner - tile * kReduceTile);
    first = (outer * shape.size + index) * shape.inner + tile * kReduceTile;
    line = outer * shape.inner + tile * kReduceTile;
  }
};

/// Runs through a unit from `state`, one accumulator a line; `each` sees every step.
template <typename Op, typename Each>
void run_unit(const ScanShape& shape, const ScanUnit& unit, const typename Op::Stored* x,
              typename Op::Accumulator* state, Each&& each) {
  if (shape.inner == 1) {
    typename Op::Accumulator running = state[0];  // stays in a register
    for (int64_t i = 0; i < unit.length; ++i) {
      running = Op::combine(running, Op::load(x[unit.first + i], unit.index + i));
      each(running, unit.first + i);
    }
    state[0] = running;
    return;
  }
  for (int64_t i = 0; i < unit.length; ++i) {
    const int64_t row = unit.first + i * shape.inner;
    for (int64_t j = 0; j < unit.width; ++j) {
      state[j] = Op::combine(state[j], Op::load(x[row + j], unit.index + i));
      each(state[j], row + j);
    }
  }
}

template <typename Op>
absl::Status scan(const KernelCall& call, int64_t axis) {
  using Accumulator = typename Op::Accumulator;
  const ScanShape shape(call.out().sizes, axis);
  if (call.out().numel() == 0) return absl::OkStatus();
  REMORA_ASSIGN_OR_RETURN(const Packed packed, Packed::of(call, call.in(0)));
  const auto* x = packed.as<typename Op::Stored>();
  const int64_t lines = shape.lines();
  Scratch scratch;
  if (shape.chunks > 1) {
    REMORA_ASSIGN_OR_RETURN(
        scratch, call.scratch(lines * shape.chunks * static_cast<int64_t>(sizeof(Accumulator))));
  }
  auto* totals = scratch.as<Accumulator>();  // by chunk, then line
  const typename Op::Target target(call);
  const int64_t units = shape.outer * shape.chunks * shape.tiles;
  const int64_t unit_work = std::min(shape.size, kScanChunk) * std::min(shape.inner, kReduceTile);
  const int64_t per_block = std::max<int64_t>(1, kElementBlock / unit_work);
  const double cost = static_cast<double>(call.out().numel()) * kScanNs;
  const auto for_units = [&](auto&& run) {
    call.parallel_for((units + per_block - 1) / per_block, cost, [&](int64_t block, int) {
      Accumulator state[kReduceTile];
      const int64_t end = std::min(units, (block + 1) * per_block);
      for (int64_t unit = block * per_block; unit < end; ++unit) {
        const ScanUnit part(shape, unit);
        std::fill_n(state, part.width, Op::identity());
        run(part, state);
      }
    });
  };
  if (shape.chunks > 1) {
    for_units([&](const ScanUnit& unit, Accumulator* state) {
      run_unit<Op>(shape, unit, x, state, [](const Accumulator&, int64_t) {});
      std::copy_n(state, unit.width, totals + unit.chunk * lines + unit.line);
    });
    for (int64_t line = 0; line < lines; ++line) {
      Accumulator before = Op::identity();
      for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
        Accumulator& total = totals[chunk * lines + line];
        const Accumulator after = Op::combine(before, total);
        total = before;
        before = after;
      }
    }
  }
  for_units([&](const ScanUnit& unit, Accumulator* state) {
    if (shape.chunks > 1) std::copy_n(totals + unit.chunk * lines + unit.line, unit.width, state);
    run_unit<Op>(shape, unit, x, state,
                 [target](const Accumulator& a, int64_t position) { target.store(a, position); });
  });
  return absl::OkStatus();
}

template <bool kProduct>
absl::Status running(const KernelCall& call) {
  return with_type(call.in(0).dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return absl::OkStatus();  // the catalogue has no such row
    } else {
      return scan<Running<T, kProduct>>(call, call.attributes<dispatch::AxisAttrs>().axis);
    }
  });
}

template <bool kSmallest>
absl::Status running_extreme(const KernelCall& call) {
  return with_type(call.in(0).dtype, [&]<typename T>() {
    return scan<RunningExtreme<T, kSmallest>>(call, call.attributes<dispatch::AxisAttrs>().axis);
  });
}

}  // namespace

int64_t scan_scratch_bytes(const Spec& input, int64_t axis) {
  const ScanShape shape(input.shape.sizes(), axis);
  constexpr int64_t kLargestAccumulator = 16;
  return shape.chunks > 1 ? shape.lines() * shape.chunks * kLargestAccumulator : 0;
}

namespace kernels {

absl::Status cumsum(const KernelCall& call) { return running<false>(call); }
absl::Status cumprod(const KernelCall& call) { return running<true>(call); }
absl::Status cummax(const KernelCall& call) { return running_extreme<false>(call); }
absl::Status cummin(const KernelCall& call) { return running_extreme<true>(call); }

}  // namespace kernels
}  // namespace remora::cpu
