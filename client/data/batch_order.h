// Which examples make up which batch: what every loader does alike, so that loaders of one seed
// give the same batches. Values; pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "client/tensor.h"

namespace remora::data {

struct LoaderOptions {
  int64_t batch_size = 32;
  bool shuffle = false;
  uint64_t seed = 0;       // of the shuffles; each epoch has its own order
  bool drop_last = false;  // leave out a last batch that is not full
  /// Batches that a background thread reads ahead; 0 reads each when it is asked for. Of no meaning
  /// to a ResidentLoader.
  int64_t prefetch = 0;
};

/// Two tensors: inputs [batch, example...] and labels [batch, label...].
struct Batch {
  Tensor inputs;
  Tensor labels;
};

/// Batches of one epoch.
struct BatchOrder {
  int64_t examples = 0;
  int64_t batch_size = 0;
  int64_t batches = 0;

  /// INVALID_ARGUMENT naming the loader for options that make no sense.
  BatchOrder(std::string_view loader, int64_t examples, const LoaderOptions& options);
  int64_t first(int64_t batch) const { return batch * batch_size; }
  int64_t count(int64_t batch) const { return std::min(batch_size, examples - first(batch)); }
};

/// The order of an epoch, counted from 0: shuffled by the seed and the epoch alone, or empty for
/// the examples' own.
std::vector<int64_t> epoch_order(const LoaderOptions& options, int64_t examples, uint64_t epoch);

}  // namespace remora::data
