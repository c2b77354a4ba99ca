#include "client/data/data_loader.h"

#include "client/data/host_batches.h"

namespace remora::data {

/// Where a pass stands.
struct DataLoader::Iterator::Epoch {
  Epoch(const Dataset& dataset, const BatchOrder& batches, std::vector<int64_t> order,
        int64_t prefetch, const Device& device_in)
      : host(dataset, batches, std::move(order), prefetch),
        device(device_in),
        left(batches.batches) {}

  HostBatches host;
  const Device device;
  int64_t left;
  std::optional<Batch> current;

  const Batch& batch() {
    if (!current) {
      HostBatch made = host.next();
      current = Batch{from_host(std::move(made.inputs), device),
                      from_host(std::move(made.labels), device)};
    }
    return *current;
  }
};

DataLoader::DataLoader(const Dataset& dataset, const LoaderOptions& options, const Device& device)
    : dataset_(dataset),
      options_(options),
      batches_("DataLoader", dataset.size(), options),
      device_(device) {}

DataLoader::Iterator DataLoader::begin() {
  std::vector<int64_t> order = epoch_order(options_, dataset_.size(), epoch_++);
  return Iterator(std::make_shared<Iterator::Epoch>(dataset_, batches_, std::move(order),
                                                    options_.prefetch, device_));
}

const Batch& DataLoader::Iterator::operator*() const { return epoch_->batch(); }

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  if (!epoch_->current) epoch_->host.next();  // one that nobody looked at
  epoch_->current.reset();
  --epoch_->left;
  return *this;
}

bool DataLoader::Iterator::operator==(std::default_sentinel_t) const { return epoch_->left == 0; }

}  // namespace remora::data
