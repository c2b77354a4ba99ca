#include "client/data/host_batches.h"

namespace remora::data {

namespace {

/// What read_ahead throws to itself to get out of a batch; nobody sees it.
struct Stopped {};

Spec batch_spec(int64_t count, const Spec& example) {
  Spec spec = example;
  spec.shape.sizes().insert(spec.shape.sizes().begin(), count);
  return spec;
}

}  // namespace

HostBatches::HostBatches(const Dataset& dataset, const BatchOrder& batches,
                         std::vector<int64_t> order, int64_t prefetch)
    : dataset_(dataset),
      batches_(batches),
      order_(std::move(order)),
      prefetch_(static_cast<size_t>(prefetch)),
      input_(dataset.input_spec()),
      label_(dataset.label_spec()) {
  if (prefetch > 0 && batches_.batches > 0) thread_ = std::thread([this] { read_ahead(); });
}

HostBatches::~HostBatches() {
  if (!thread_.joinable()) return;
  {
    const absl::MutexLock lock(&mutex_);  // a waiting thread looks at stop_ when it is released
    stop_.store(true, std::memory_order_relaxed);
  }
  thread_.join();
}

HostBatch HostBatches::read(int64_t batch) const {
  const int64_t first = batches_.first(batch);
  const int64_t count = batches_.count(batch);
  const auto input_bytes = static_cast<size_t>(input_.byte_size());
  const auto label_bytes = static_cast<size_t>(label_.byte_size());
  HostBatch made;
  made.inputs =
      dispatch::HostData::make(batch_spec(count, input_), [&](std::span<std::byte> inputs) {
        const auto write_labels = [&](std::span<std::byte> labels) {
          for (int64_t i = 0; i < count; ++i) {
            if (stop_.load(std::memory_order_relaxed)) throw Stopped();
            const auto place = static_cast<size_t>(i);
            const int64_t example =
                order_.empty() ? first + i : order_[static_cast<size_t>(first + i)];
            dataset_.read(example, inputs.subspan(place * input_bytes, input_bytes),
                          labels.subspan(place * label_bytes, label_bytes));
          }
        };
        made.labels = dispatch::HostData::make(batch_spec(count, label_), write_labels);
      });
  return made;
}

void HostBatches::read_ahead() {
  const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stop_.load(std::memory_order_relaxed) || ready_.size() < prefetch_;
  };
  for (int64_t batch = 0; batch < batches_.batches; ++batch) {
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_room));
      if (stop_.load(std::memory_order_relaxed)) return;
    }
    try {
      HostBatch made = read(batch);
      const absl::MutexLock lock(&mutex_);
      ready_.push_back(std::move(made));
    } catch (const Stopped&) {
      return;
    } catch (...) {
      const absl::MutexLock lock(&mutex_);
      failure_ = std::current_exception();
      return;
    }
  }
}

HostBatch HostBatches::next() {
  if (prefetch_ == 0) {
    HostBatch batch = read(next_);
    ++next_;
    return batch;
  }
  const absl::MutexLock lock(&mutex_);
  const auto answered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !ready_.empty() || failure_ != nullptr;
  };
  mutex_.Await(absl::Condition(&answered));
  if (ready_.empty()) std::rethrow_exception(failure_);
  HostBatch batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

}  // namespace remora::data
