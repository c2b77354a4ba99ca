#include "client/data/data_loader.h"

#include <algorithm>
#include <numeric>

#include "client/apply.h"
#include "dispatch/philox.h"
#include "dispatch/str_cat.h"

namespace remora::data {

TensorDataset::TensorDataset(std::vector<float> inputs, Shape example, std::vector<int64_t> labels)
    : inputs_(std::move(inputs)), example_(std::move(example)), labels_(std::move(labels)) {
  throw_if_error(check_shape(example_));
  example_size_ = example_.numel();
  const auto examples = static_cast<int64_t>(labels_.size());
  const auto values = static_cast<int64_t>(inputs_.size());
  const bool fits = example_size_ == 0
                        ? values == 0
                        : values % example_size_ == 0 && values / example_size_ == examples;
  if (!fits) {
    refuse("TensorDataset", str_cat(values, " values do not make ", examples, " examples of shape ",
                                    example_.str()));
  }
}

std::span<const float> TensorDataset::input(int64_t index) const {
  return std::span(inputs_).subspan(static_cast<size_t>(index * example_size_),
                                    static_cast<size_t>(example_size_));
}

std::vector<int64_t> shuffled_indices(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(std::max<int64_t>(0, count)));
  std::iota(order.begin(), order.end(), 0);
  // Fisher and Yates, with a draw of 64 bits each: the bias of the modulus is below 2^-32 for any
  // real count.
  for (size_t i = order.size(); i > 1; --i) {
    const dispatch::PhiloxBlock block = dispatch::philox_block(seed, i);
    const uint64_t draw = (uint64_t{block[1]} << 32) | block[0];
    std::swap(order[i - 1], order[static_cast<size_t>(draw % i)]);
  }
  return order;
}

DataLoader::DataLoader(const TensorDataset& dataset, const LoaderOptions& options,
                       const Device& device)
    : dataset_(dataset), options_(options), device_(device) {
  if (options.batch_size < 1) {
    refuse("DataLoader", str_cat("batch_size is ", options.batch_size, "; it must be at least 1"));
  }
}

int64_t DataLoader::batches() const {
  const int64_t full = dataset_.size() / options_.batch_size;
  const bool partial = dataset_.size() % options_.batch_size != 0;
  return full + (partial && !options_.drop_last ? 1 : 0);
}

DataLoader::Iterator DataLoader::begin() {
  if (options_.shuffle) {
    const dispatch::PhiloxBlock block = dispatch::philox_block(options_.seed, epoch_);
    order_ = shuffled_indices(dataset_.size(), (uint64_t{block[1]} << 32) | block[0]);
  } else if (order_.empty()) {
    order_.resize(static_cast<size_t>(dataset_.size()));
    std::iota(order_.begin(), order_.end(), 0);
  }
  ++epoch_;
  return Iterator(this);
}

Batch DataLoader::Iterator::operator*() const { return loader_->batch(batch_); }

Batch DataLoader::batch(int64_t index) const {
  const int64_t first = index * options_.batch_size;
  const int64_t count = std::min(options_.batch_size, dataset_.size() - first);
  std::vector<float> inputs;
  std::vector<int64_t> labels;
  inputs.reserve(static_cast<size_t>(count * dataset_.example().numel()));
  labels.reserve(static_cast<size_t>(count));
  for (int64_t i = first; i < first + count; ++i) {
    const int64_t example = order_[static_cast<size_t>(i)];
    const std::span<const float> input = dataset_.input(example);
    inputs.insert(inputs.end(), input.begin(), input.end());
    labels.push_back(dataset_.label(example));
  }
  Shape shape = dataset_.example();
  shape.sizes().insert(shape.sizes().begin(), count);
  return {from_data(inputs, shape, device_), from_data(labels, {count}, device_)};
}

}  // namespace remora::data
