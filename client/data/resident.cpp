#include "client/data/resident.h"

#include "client/apply.h"
#include "client/data/dataset.h"
#include "client/ops.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::data {

namespace {

/// True if the device can hold, cut and convert tensors of this type.
bool is_usable(dispatch::Backend& backend, DType dtype) {
  return backend.supports(dispatch::OpCode::full, dtype) &&
         backend.supports(dispatch::OpCode::slice, dtype) &&
         backend.supports(dispatch::OpCode::astype, dtype);
}

template <typename T>
Tensor uploaded_as(const std::vector<int64_t>& order, const Device& device) {
  std::vector<T> narrow_order;
  narrow_order.reserve(order.size());
  for (const int64_t index : order) narrow_order.push_back(static_cast<T>(index));
  return from_data(narrow_order, {static_cast<int64_t>(order.size())}, device);
}

/// The order in the element type that takes the least room on the wire and holds every index.
Tensor uploaded(const std::vector<int64_t>& order, const Device& device) {
  constexpr size_t kExactInF32 = size_t{1} << 24;
  dispatch::Backend& backend = device.state().backend();
  if (order.size() <= size_t{1} << 16 && is_usable(backend, DType::kU16)) {
    return uploaded_as<uint16_t>(order, device);
  }
  if (order.size() <= kExactInF32) return uploaded_as<float>(order, device);
  return uploaded_as<int64_t>(order, device);
}

}  // namespace

ResidentDataset::ResidentDataset(Tensor inputs, Tensor labels)
    : inputs_(std::move(inputs)), labels_(std::move(labels)) {
  if (inputs_.rank() < 1 || labels_.rank() < 1 || inputs_.size(0) != labels_.size(0)) {
    refuse("ResidentDataset", str_cat("inputs ", inputs_.shape().str(), " and labels ",
                                      labels_.shape().str(), " do not have as many examples"));
  }
  if (!(inputs_.device() == labels_.device())) {
    refuse("ResidentDataset", str_cat("the inputs live on ", inputs_.device().str(),
                                      ", the labels on ", labels_.device().str()));
  }
}

ResidentLoader::ResidentLoader(ResidentDataset dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      batches_("ResidentLoader", dataset_.size(), options) {}

ResidentLoader::Iterator ResidentLoader::begin() {
  const std::vector<int64_t> order = epoch_order(options_, dataset_.size(), epoch_++);
  if (order.empty()) return Iterator(this, Tensor());
  return Iterator(this, uploaded(order, dataset_.device().without_autodiff()));
}

Batch ResidentLoader::Iterator::operator*() const {
  const dispatch::CallScope scope;
  const int64_t first = loader_->batches_.first(batch_);
  const int64_t count = loader_->batches_.count(batch_);
  const Tensor& inputs = loader_->dataset_.inputs();
  const Tensor& labels = loader_->dataset_.labels();
  if (!order_.defined()) return {narrow(inputs, 0, first, count), narrow(labels, 0, first, count)};
  const Tensor index = astype(narrow(order_, 0, first, count), DType::kI64);
  return {index_select(inputs, 0, index), index_select(labels, 0, index)};
}

}  // namespace remora::data
