// Draws: element i comes from lane i % 4 of the Philox block at offset + i / 4, an f64 from two
// lanes, whatever thread computes it.
#include "dispatch/philox.h"

#include <cmath>
#include <numbers>

#include "kernels/cpu/strided.h"

namespace remora::cpu {
namespace {

constexpr double kUniformNs = 1.5;
constexpr double kNormalNs = 3.0;
constexpr double kNormal64Ns = 25.0;

/// Philox blocks computed together, lane by lane, so that the compiler vectorises what follows.
constexpr int64_t kBatch = 64;
static_assert(kElementBlock % (4 * kBatch) == 0);
struct Lanes {
  uint32_t bits[4][kBatch];
};

/// [0, 1) in steps of 2^-24.
float unit(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f; }

/// [0, 1) in steps of 2^-53: the 64 bits of two lanes, the first one's low.
double unit(uint32_t low, uint32_t high) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}

/// Box and Muller, "A note on the generation of random normal deviates" (1958): two uniforms give
/// two normals, the cosine's first. 1 - u is exact and never 0.
void box_muller(const uint32_t* __restrict first, const uint32_t* __restrict second,
                float* __restrict cosines, float* __restrict sines) {
  for (int64_t i = 0; i < kBatch; ++i) {
    const float radius = r_sqrt(-2.0f * r_log(1.0f - unit(first[i])));
    const float angle = 6.28318531f * unit(second[i]);
    cosines[i] = radius * r_sin_reduced(angle, 1);
    sines[i] = radius * r_sin_reduced(angle, 0);
  }
}

/// Fills the output of T, `per_block` elements from each Philox block; `draw(lanes, values)` turns
/// a batch of blocks into values, by the element's place in its block.
template <typename T, int64_t per_block, typename Draw>
void fill_draws(const KernelCall& call, double ns_per_element, Draw&& draw) {
  const auto& attrs = call.attributes<dispatch::RandomAttrs>();
  T* out = call.out().as<T>();
  for_blocks(call, call.out().numel(), ns_per_element, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += per_block * kBatch) {
      Lanes lanes;
      for (int64_t i = 0; i < kBatch; ++i) {
        const uint64_t offset = attrs.offset + static_cast<uint64_t>(at / per_block + i);
        const dispatch::PhiloxBlock block = dispatch::philox_block(attrs.seed, offset);
        for (size_t lane = 0; lane < 4; ++lane) lanes.bits[lane][i] = block[lane];
      }
      T values[per_block][kBatch];
      draw(lanes, values);
      const int64_t count = std::min(per_block * kBatch, end - at);
      for (int64_t i = 0; i < count; ++i) out[at + i] = values[i % per_block][i / per_block];
    }
  });
}

}  // namespace

namespace kernels {

absl::Status uniform(const KernelCall& call) {
  if (call.out().dtype == DType::kF64) {
    fill_draws<double, 2>(call, 2 * kUniformNs, [](const Lanes& lanes, double(*values)[kBatch]) {
      for (int64_t i = 0; i < kBatch; ++i) {
        values[0][i] = unit(lanes.bits[0][i], lanes.bits[1][i]);
        values[1][i] = unit(lanes.bits[2][i], lanes.bits[3][i]);
      }
    });
    return absl::OkStatus();
  }
  fill_draws<float, 4>(call, kUniformNs, [](const Lanes& lanes, float(*values)[kBatch]) {
    for (size_t lane = 0; lane < 4; ++lane) {
      for (int64_t i = 0; i < kBatch; ++i) values[lane][i] = unit(lanes.bits[lane][i]);
    }
  });
  return absl::OkStatus();
}

absl::Status normal(const KernelCall& call) {
  if (call.out().dtype == DType::kF64) {
    fill_draws<double, 2>(call, kNormal64Ns, [](const Lanes& lanes, double(*values)[kBatch]) {
      for (int64_t i = 0; i < kBatch; ++i) {
        const double u = unit(lanes.bits[0][i], lanes.bits[1][i]);
        const double radius = std::sqrt(-2.0 * std::log1p(-u));
        const double angle = 2.0 * std::numbers::pi * unit(lanes.bits[2][i], lanes.bits[3][i]);
        values[0][i] = radius * std::cos(angle);
        values[1][i] = radius * std::sin(angle);
      }
    });
    return absl::OkStatus();
  }
  fill_draws<float, 4>(call, kNormalNs, [](const Lanes& lanes, float(*values)[kBatch]) {
    box_muller(lanes.bits[0], lanes.bits[1], values[0], values[1]);
    box_muller(lanes.bits[2], lanes.bits[3], values[2], values[3]);
  });
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
