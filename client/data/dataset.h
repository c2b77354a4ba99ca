// Examples in host memory, or made there: what a DataLoader reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/shape.h"

namespace remora::data {

/// Numbered examples, each an input and a label of one Spec. A loader reads them from one thread at
/// a time, which may be its own.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Element type and shape of one example's input, and of its label.
  virtual Spec input_spec() const = 0;
  virtual Spec label_spec() const = 0;
  /// Writes an example, row-major, to memory of exactly the specs' bytes. What it throws ends the
  /// epoch and reaches whoever asks the loader for the next batch.
  virtual void read(int64_t index, std::span<std::byte> input,
                    std::span<std::byte> label) const = 0;
};

/// Examples in host memory: f32 inputs of one shape and an i64 label each.
class TensorDataset : public Dataset {
 public:
  /// `inputs` row-major, labels.size() examples of `example`'s shape. INVALID_ARGUMENT if they do
  /// not fit.
  TensorDataset(std::vector<float> inputs, Shape example, std::vector<int64_t> labels);

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  Spec input_spec() const override { return {DType::kF32, example_}; }
  Spec label_spec() const override { return {DType::kI64, {}}; }
  void read(int64_t index, std::span<std::byte> input, std::span<std::byte> label) const override;

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

}  // namespace remora::data
