// Batches of a data set in host memory, as tensors on a device.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "client/tensor.h"

namespace remora::data {

/// Examples in host memory: f32 inputs of one shape and an i64 label each.
class TensorDataset {
 public:
  /// `inputs` row-major, labels.size() examples of `example`'s shape. INVALID_ARGUMENT if they do
  /// not fit.
  TensorDataset(std::vector<float> inputs, Shape example, std::vector<int64_t> labels);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  const Shape& example() const { return example_; }
  std::span<const float> input(int64_t index) const;
  int64_t label(int64_t index) const { return labels_[static_cast<size_t>(index)]; }

 private:
  std::vector<float> inputs_;
  Shape example_;
  int64_t example_size_;
  std::vector<int64_t> labels_;
};

/// A permutation of [0, count) that `seed` alone decides, on every machine.
std::vector<int64_t> shuffled_indices(int64_t count, uint64_t seed);

struct LoaderOptions {
  int64_t batch_size = 32;
  bool shuffle = false;
  uint64_t seed = 0;       // of the shuffles; each epoch has its own order
  bool drop_last = false;  // leave out a last batch that is not full
};

/// Two tensors: inputs f32 [batch, example...] and labels i64 [batch].
struct Batch {
  Tensor inputs;
  Tensor labels;
};

/// `for (auto [inputs, labels] : loader)`: one epoch a loop. The data set must outlive the loader.
/// Not thread-safe.
class DataLoader {
 public:
  /// INVALID_ARGUMENT for a batch size below 1.
  DataLoader(const TensorDataset& dataset, const LoaderOptions& options, const Device& device);

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
    friend class DataLoader;
    explicit Iterator(const DataLoader* loader) : loader_(loader) {}
    const DataLoader* loader_;
    int64_t batch_ = 0;
  };

  /// Starts an epoch: draws its order.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Batches of one epoch.
  int64_t batches() const;

 private:
  Batch batch(int64_t index) const;

  const TensorDataset& dataset_;
  LoaderOptions options_;
  Device device_;
  uint64_t epoch_ = 0;
  std::vector<int64_t> order_;
};

}  // namespace remora::data
