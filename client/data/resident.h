// A data set that lives on a device: uploaded once, in whatever element type it has, and cut into
// batches there. A training step over a remote device then sends no data.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>

#include "client/data/batch_order.h"
#include "client/tensor.h"

namespace remora::data {

/// Inputs [N, example...] and labels [N, label...] on one device. A value; copies share the
/// tensors. u8 inputs are converted in the model: `astype(batch.inputs, DType::kF32) / 255.0`.
class ResidentDataset {
 public:
  /// INVALID_ARGUMENT unless both have as many examples and live on one device.
  ResidentDataset(Tensor inputs, Tensor labels);

  int64_t size() const { return labels_.size(0); }
  const Tensor& inputs() const { return inputs_; }
  const Tensor& labels() const { return labels_; }
  Device device() const { return inputs_.device(); }

 private:
  Tensor inputs_;
  Tensor labels_;
};

/// `for (auto [inputs, labels] : loader)`, as DataLoader, with the same order for the same seed.
/// The order of a shuffled epoch is uploaded when it begins, in the smallest element type that the
/// device has for it; each batch is then selected on the device. Every full batch is one plan,
/// whatever its place. Not thread-safe.
class ResidentLoader {
 public:
  /// INVALID_ARGUMENT for a batch size below 1.
  ResidentLoader(ResidentDataset dataset, const LoaderOptions& options);

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch operator*() const;
    Iterator& operator++() {
      ++batch_;
      return *this;
    }
    void operator++(int) { ++batch_; }
    bool operator==(std::default_sentinel_t) const { return batch_ >= loader_->batches(); }

   private:
    friend class ResidentLoader;
    Iterator(const ResidentLoader* loader, Tensor order)
        : loader_(loader), order_(std::move(order)) {}
    const ResidentLoader* loader_;
    Tensor order_;  // [N], or undefined for the examples' own
    int64_t batch_ = 0;
  };

  /// Starts an epoch: draws its order and uploads it.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Batches of one epoch.
  int64_t batches() const { return batches_.batches; }

 private:
  ResidentDataset dataset_;
  LoaderOptions options_;
  BatchOrder batches_;
  uint64_t epoch_ = 0;
};

}  // namespace remora::data
