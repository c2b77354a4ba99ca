#include "client/cli/bench_cpu.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "client/cli/bench_families.h"
#include "client/cli/exit_codes.h"
#include "client/cli/figures.h"
#include "client/ops.h"
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
constexpr int64_t kHeldBytes = 1 << 20;
constexpr int kRecordedOps = 5'000;
constexpr int64_t kChain = 64 << 20;
constexpr int kChainOps = 8;

/// What the device takes, as it was not told otherwise.
int usable_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// The time of one call among `repeats` that are recorded together and then waited for. Results
/// are held until they have been handed over, since what nobody holds is not computed; not longer,
/// so that memory is used again.
double time_us(const Device& device, const Family& family) {
  std::vector<Tensor> held;
  int64_t held_bytes = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < family.repeats; ++i) {
    for (Tensor& result : family.run()) {
      held_bytes += result.spec().byte_size();
      held.push_back(std::move(result));
    }
    if (held_bytes < kHeldBytes) continue;
    device.flush();
    held.clear();
    held_bytes = 0;
  }
  device.synchronize();
  return microseconds_since(begin) / family.repeats;
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
  const Tensor result = run();
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
  std::vector<Family> families = families_of(device, options.only);
  if (families.empty()) {
    std::fprintf(stderr, "remora: no key of a family of operations begins with %s\n",
                 options.only.c_str());
    return kUsage;
  }
  settle_repeats(device, families);

  const Tensor one = full({4}, 1.0, device);
  const Tensor big = options.only.empty() ? full({kChain}, 1.0, device) : one;
  const int64_t copied_bytes = 2 * kChain * dtype_size(DType::kF32);
  Figures figures;
  for (int round = 0; round < options.rounds; ++round) {
    if (options.only.empty()) {
      figures.add("record_ns_per_op", record_ns(device, one));
      figures.add("stream_copy_GBps",
                  gigabytes_per_s(device, copied_bytes, [&] { return neg(big); }));
      figures.add("chain8_64Mi_GBps",
                  gigabytes_per_s(device, copied_bytes, [&] { return chain(big); }));
    }
    for (const Family& family : families) {
      figures.add(str_cat(family.key, "_t", threads, "_us"), time_us(device, family));
    }
  }
  std::printf("%s\n",
              options.json ? figures.json("cpu", device.str()).c_str() : figures.text().c_str());
  return kOk;
}

}  // namespace remora::cli
