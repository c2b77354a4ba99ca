// A prepared graph: its ops as steps with kernels found, positions resolved and the last use of
// every value known, so that a run does nothing but call kernels. Used by one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "dispatch/backend.h"
#include "kernels/cpu/fusion.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/storage.h"

namespace remora::cpu {

class CpuPlan : public dispatch::Plan {
 public:
  /// Use `prepare`: it adds the steps.
  CpuPlan(const KernelTable& kernels, dispatch::GraphPtr graph, const dispatch::LiveSet& live)
      : kernels_(kernels), graph_(std::move(graph)), live_(live) {}
  /// `threads` is the pool's: scratch memory depends on it.
  static absl::StatusOr<std::unique_ptr<CpuPlan>> prepare(const KernelTable& kernels,
                                                          dispatch::GraphPtr graph,
                                                          const dispatch::LiveSet& live,
                                                          int threads);

  int64_t peak_bytes() const override { return peak_bytes_; }
  dispatch::RunResult run(const std::shared_ptr<DeviceMemory>& memory, ThreadPool& threads,
                          const dispatch::RunRequest& request);

 private:
  struct Step {
    Kernel kernel = nullptr;
    bool in_f32 = false;  // see in_f32.h
    const dispatch::GraphOp* op = nullptr;
    dispatch::Attrs attrs;  // the run's params are patched in
    bool is_view = false;
  };
  /// Steps [first, last) that run together: one op, or a fused group and the views among it.
  struct Unit {
    uint32_t first = 0;
    uint32_t last = 0;
    const FusedGroup* group = nullptr;
    std::vector<uint32_t> releases;  // outputs used here for the last time
  };
  /// A value during a run.
  struct Slot {
    std::shared_ptr<dispatch::Storage> storage;
    std::byte* data = nullptr;
    Dims strides;
  };

  absl::Status add_steps();
  void add_units();
  void plan_lifetimes(int threads);
  int64_t scratch_bound(const Step& step, const std::vector<bool>& contiguous, int threads) const;

  absl::Status bind_inputs(const dispatch::RunRequest& request);
  void clear_slots();
  bool run_view(Step& step, absl::Status& failure);
  absl::Status run_step(Step& step, const std::shared_ptr<DeviceMemory>& memory,
                        ThreadPool& threads, const dispatch::RunRequest& request);
  absl::Status run_kernel(Step& step, const std::shared_ptr<DeviceMemory>& memory,
                          ThreadPool& threads);
  absl::Status run_group(const FusedGroup& group, const std::shared_ptr<DeviceMemory>& memory,
                         ThreadPool& threads);
  absl::Status add_output(uint32_t output, const std::shared_ptr<DeviceMemory>& memory);
  Slot& slot(dispatch::Position position);
  TensorView view_of(dispatch::Position position);
  std::vector<dispatch::Buffer> take_outputs();

  const KernelTable& kernels_;
  const dispatch::GraphPtr graph_;
  const dispatch::LiveSet live_;
  std::vector<Step> steps_;
  std::vector<FusedGroup> groups_;
  std::vector<Unit> units_;
  std::vector<Dims> output_strides_;  // of results of kernels
  int64_t peak_bytes_ = 0;
  // Of the run in progress; kept to spare allocations.
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<TensorView> input_views_;
  std::vector<TensorView> output_views_;
};

}  // namespace remora::cpu
