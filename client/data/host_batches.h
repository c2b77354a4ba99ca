// The batches of one epoch of a Dataset as host data, in order: read when they are asked for, or
// ahead of that by a thread of their own with a bounded queue. Owned by a loader's iterator; used
// by one thread. Destroying it stops the thread after the example that it is reading.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/data/batch_order.h"
#include "client/data/dataset.h"
#include "dispatch/buffer.h"

namespace remora::data {

struct HostBatch {
  dispatch::HostData inputs;
  dispatch::HostData labels;
};

class HostBatches {
 public:
  /// `order` is empty for the examples' own. The data set must outlive it.
  HostBatches(const Dataset& dataset, const BatchOrder& batches, std::vector<int64_t> order,
              int64_t prefetch);
  ~HostBatches();
  HostBatches(const HostBatches&) = delete;

  /// The next batch; there must be one. Throws what the data set threw for one of its examples, now
  /// and whenever it is asked again.
  HostBatch next();

 private:
  HostBatch read(int64_t batch) const;
  void read_ahead();

  const Dataset& dataset_;
  const BatchOrder batches_;
  const std::vector<int64_t> order_;
  const size_t prefetch_;
  const Spec input_;
  const Spec label_;
  int64_t next_ = 0;  // without a thread
  std::atomic<bool> stop_{false};
  absl::Mutex mutex_;  // guards what the two threads share
  std::deque<HostBatch> ready_ ABSL_GUARDED_BY(mutex_);
  std::exception_ptr failure_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace remora::data
