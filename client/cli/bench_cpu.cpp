#include "client/cli/bench_cpu.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "client/cli/exit_codes.h"
#include "client/cli/figures.h"
#include "client/ops.h"
#include "client/ops_nn.h"
#include "client/tensor.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Time that one sample of a family takes at least.
constexpr double kSample_us = 20'000.0;
constexpr int kMaxRepeats = 1000;
constexpr int kRecordedOps = 5'000;
constexpr int64_t kSmall = 1 << 10;
constexpr int64_t kLarge = 1 << 22;
constexpr int64_t kChain = 64 << 20;
constexpr int kChainOps = 8;

/// What the device takes, as it was not told otherwise.
int usable_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// One key: an operation on operands of one size.
struct Family {
  std::string key;
  std::function<Tensor()> run;
  int repeats = 1;  // as many as make a sample of kSample_us
};

/// The time of one call among `repeats` that are recorded together and then waited for.
double time_us(const Device& device, const Family& family) {
  const auto begin = Clock::now();
  for (int i = 0; i < family.repeats; ++i) (void)family.run();
  device.synchronize();
  return microseconds_since(begin) / family.repeats;
}

/// The families whose operands are `count` elements, under names that end with `size`.
void add_vector_families(const Device& device, int64_t count, std::string_view size,
                         std::vector<Family>& families) {
  const Tensor x = uniform({count}, device);
  const Tensor y = uniform({count}, device);
  const Tensor matrix = reshape(x, {count / 256, 256});
  const Tensor mask = x < y;
  const Tensor index = astype(x * static_cast<double>(count - 1), DType::kI64);
  const auto add_family = [&](std::string_view name, std::function<Tensor()> run) {
    families.push_back({str_cat(name, "_", size), std::move(run)});
  };
  add_family("add", [=] { return x + y; });
  add_family("div", [=] { return x / y; });
  add_family("exp", [=] { return exp(x); });
  add_family("tanh", [=] { return tanh(x); });
  add_family("where", [=] { return where(mask, x, y); });
  add_family("astype_i64", [=] { return astype(x, DType::kI64); });
  add_family("transpose", [=] { return transpose(matrix) + 0.0; });
  add_family("sum_all", [=] { return sum(x); });
  add_family("sum_last", [=] { return sum(matrix, {1}); });
  add_family("sum_first", [=] { return sum(matrix, {0}); });
  add_family("argmax_last", [=] { return argmax(matrix, 1); });
  add_family("softmax_last", [=] { return softmax(matrix, 1); });
  add_family("layer_norm_last", [=] { return layer_norm(matrix, {256}); });
  add_family("cumsum_last", [=] { return cumsum(matrix, 1); });
  add_family("gather", [=] { return gather(x, 0, index); });
}

void add_contraction_families(const Device& device, std::vector<Family>& families) {
  for (const int64_t size : {64, 1024}) {
    const Tensor a = uniform({size, size}, device);
    const Tensor b = uniform({size, size}, device);
    families.push_back({str_cat("matmul_", size), [=] { return matmul(a, b); }});
  }
  for (const int64_t batch : {1, 32}) {
    const Tensor images = uniform({batch, 32, 28, 28}, device);
    const Tensor weight = uniform({64, 32, 3, 3}, device);
    families.push_back({str_cat("conv2d_3x3_b", batch), [=] { return conv2d(images, weight); }});
    families.push_back({str_cat("max_pool2d_2x2_b", batch), [=] {
                          return max_pool2d(images, {2, 2});
                        }});
  }
}

/// What the caller pays for an operation: recorded, not waited for.
double record_ns(const Device& device, const Tensor& one) {
  Tensor x = one;
  device.synchronize();
  const auto begin = Clock::now();
  for (int i = 0; i < kRecordedOps; ++i) x = x + one;
  const double recorded_us = microseconds_since(begin);
  device.synchronize();
  return recorded_us * 1000.0 / kRecordedOps;
}

Tensor chain(const Tensor& input) {
  Tensor x = input;
  for (int i = 0; i < kChainOps; ++i) x = (i % 2 == 0) ? x * 1.001 : x + 0.001;
  return x;
}

/// Gigabytes a second of an operation that has to move `bytes`.
double gigabytes_per_s(const Device& device, int64_t bytes, const std::function<Tensor()>& run) {
  const auto begin = Clock::now();
  (void)run();
  device.synchronize();
  return static_cast<double>(bytes) / microseconds_since(begin) / 1000.0;
}

void settle_repeats(const Device& device, std::vector<Family>& families) {
  for (Family& family : families) {
    (void)time_us(device, family);
    const double once_us = time_us(device, family);
    family.repeats = std::clamp(static_cast<int>(kSample_us / once_us), 1, kMaxRepeats);
  }
}

}  // namespace

int bench_cpu(const BenchCpuOptions& options) {
  const Device device = Device::cpu();
  const int threads = usable_processors();
  std::vector<Family> families;
  add_vector_families(device, kSmall, "1Ki", families);
  add_vector_families(device, kLarge, "4Mi", families);
  add_contraction_families(device, families);
  settle_repeats(device, families);

  const Tensor one = full({4}, 1.0, device);
  const Tensor big = full({kChain}, 1.0, device);
  const int64_t copied_bytes = 2 * kChain * dtype_size(DType::kF32);
  Figures figures;
  for (int round = 0; round < options.rounds; ++round) {
    figures.add("record_ns_per_op", record_ns(device, one));
    figures.add("stream_copy_GBps",
                gigabytes_per_s(device, copied_bytes, [&] { return neg(big); }));
    figures.add("chain8_64Mi_GBps",
                gigabytes_per_s(device, copied_bytes, [&] { return chain(big); }));
    for (const Family& family : families) {
      figures.add(str_cat(family.key, "_t", threads, "_us"), time_us(device, family));
    }
  }
  std::printf("%s\n",
              options.json ? figures.json("cpu", device.str()).c_str() : figures.text().c_str());
  return kOk;
}

}  // namespace remora::cli
