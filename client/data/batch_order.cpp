#include "client/data/batch_order.h"

#include "client/apply.h"
#include "client/data/dataset.h"
#include "client/limits.h"
#include "dispatch/philox.h"
#include "dispatch/str_cat.h"

namespace remora::data {

BatchOrder::BatchOrder(std::string_view loader, int64_t examples_in, const LoaderOptions& options)
    : examples(examples_in), batch_size(options.batch_size) {
  if (batch_size < 1) {
    refuse(loader, str_cat("batch_size is ", batch_size, "; it must be at least 1"));
  }
  if (options.prefetch < 0 || options.prefetch > kMaxPrefetchedBatches) {
    refuse(loader, str_cat("prefetch is ", options.prefetch, "; it must lie in [0, ",
                           kMaxPrefetchedBatches, "]"));
  }
  const bool partial = examples % batch_size != 0;
  batches = examples / batch_size + (partial && !options.drop_last ? 1 : 0);
}

std::vector<int64_t> epoch_order(const LoaderOptions& options, int64_t examples, uint64_t epoch) {
  if (!options.shuffle) return {};
  const dispatch::PhiloxBlock block = dispatch::philox_block(options.seed, epoch);
  return shuffled_indices(examples, (uint64_t{block[1]} << 32) | block[0]);
}

}  // namespace remora::data
