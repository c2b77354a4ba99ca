// Batches of a data set in host memory, as tensors on a device.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>

#include "client/data/batch_order.h"
#include "client/data/dataset.h"
#include "client/tensor.h"

namespace remora::data {

class HostBatches;

/// `for (auto [inputs, labels] : loader)`: one epoch a loop. The data set must outlive the loader
/// and its iterators. Not thread-safe; with `prefetch` a thread of the epoch's own reads the
/// examples, and ends when the loop does.
class DataLoader {
 public:
  /// INVALID_ARGUMENT for a batch size below 1.
  DataLoader(const Dataset& dataset, const LoaderOptions& options, const Device& device);

  /// One pass; copies share it.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    /// The batch here, read and handed to the device the first time it is asked for.
    const Batch& operator*() const;
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const;

   private:
    friend class DataLoader;
    struct Epoch;
    explicit Iterator(std::shared_ptr<Epoch> epoch) : epoch_(std::move(epoch)) {}
    std::shared_ptr<Epoch> epoch_;
  };

  /// Starts an epoch: draws its order.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Batches of one epoch.
  int64_t batches() const { return batches_.batches; }

 private:
  const Dataset& dataset_;
  LoaderOptions options_;
  BatchOrder batches_;
  Device device_;
  uint64_t epoch_ = 0;
};

}  // namespace remora::data
