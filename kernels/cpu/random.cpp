// Draws: element i comes from lane i % 4 of the Philox block at offset + i / 4, whatever thread
// computes it.
#include "dispatch/philox.h"

#include "kernels/cpu/elementwise.h"

namespace remora::cpu {
namespace {

constexpr double kUniformNs = 1.5;
constexpr double kNormalNs = 3.0;

/// Philox blocks computed together, lane by lane, so that the compiler vectorises what follows.
constexpr int64_t kBatch = 64;
static_assert(kElementBlock % (4 * kBatch) == 0);
struct Lanes {
  uint32_t bits[4][kBatch];
};

/// [0, 1) in steps of 2^-24.
float unit(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f; }

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

/// Fills the f32 output; `draw(lanes, values)` turns a batch of blocks into values by lane.
template <typename Draw>
void fill_draws(const KernelCall& call, double ns_per_element, Draw&& draw) {
  const auto& attrs = call.attributes<dispatch::RandomAttrs>();
  float* out = call.out().as<float>();
  for_blocks(call, call.out().numel(), ns_per_element, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += 4 * kBatch) {
      Lanes lanes;
      for (int64_t i = 0; i < kBatch; ++i) {
        const uint64_t offset = attrs.offset + static_cast<uint64_t>(at / 4 + i);
        const dispatch::PhiloxBlock block = dispatch::philox_block(attrs.seed, offset);
        for (size_t lane = 0; lane < 4; ++lane) lanes.bits[lane][i] = block[lane];
      }
      float values[4][kBatch];
      draw(lanes, values);
      const int64_t count = std::min(4 * kBatch, end - at);
      for (int64_t i = 0; i < count; ++i) out[at + i] = values[i % 4][i / 4];
    }
  });
}

}  // namespace

namespace kernels {

absl::Status uniform(const KernelCall& call) {
  fill_draws(call, kUniformNs, [](const Lanes& lanes, float(*values)[kBatch]) {
    for (size_t lane = 0; lane < 4; ++lane) {
      for (int64_t i = 0; i < kBatch; ++i) values[lane][i] = unit(lanes.bits[lane][i]);
    }
  });
  return absl::OkStatus();
}

absl::Status normal(const KernelCall& call) {
  fill_draws(call, kNormalNs, [](const Lanes& lanes, float(*values)[kBatch]) {
    box_muller(lanes.bits[0], lanes.bits[1], values[0], values[1]);
    box_muller(lanes.bits[2], lanes.bits[3], values[2], values[3]);
  });
  return absl::OkStatus();
}

}  // namespace kernels
}  // namespace remora::cpu
