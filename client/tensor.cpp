#include "client/tensor.h"

#include "client/apply.h"
#include "client/autodiff/autodiff.h"
#include "client/autodiff/node.h"
#include "client/ops.h"
#include "dispatch/device_state.h"
#include "dispatch/str_cat.h"
#include "dispatch/transfer.h"

namespace remora {

namespace {

thread_local int no_grad_depth = 0;

[[noreturn]] void fail_precondition(const std::string& message) {
  throw Error(absl::FailedPreconditionError(message));
}

}  // namespace

NoGrad::NoGrad() { ++no_grad_depth; }
NoGrad::~NoGrad() { --no_grad_depth; }
bool grad_enabled() { return no_grad_depth == 0; }

void manual_seed(uint64_t seed) { dispatch::manual_seed(seed); }

const dispatch::Value& Tensor::value() const {
  if (!value_) fail_precondition("use of a Tensor that was never given a value");
  return value_;
}

int64_t Tensor::size(int64_t axis) const { return shape()[normalize_axis("size", axis, rank())]; }

Device Tensor::device() const { return context_.apply_to(value()->device().device()); }

ReadFuture Tensor::read_async() const { return ReadFuture(value()); }

std::vector<ReadFuture> read_all(std::span<const Tensor> tensors) {
  std::vector<dispatch::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.value());
  return ReadFuture::of_all(values);
}

std::vector<ReadFuture> read_all(std::initializer_list<Tensor> tensors) {
  return read_all(std::span(tensors.begin(), tensors.size()));
}

Tensor Tensor::to(const Device& device) const {
  if (value()->device().device() == device) return *this;
  if (device.kind() == BackendKind::kCapture && requires_grad() && grad_enabled()) {
    fail_precondition(
        str_cat("to: a tracked tensor cannot be moved to ", device.str(),
                ", which records a graph and tracks no gradients; detach it first, or "
                "record under no_grad"));
  }
  dispatch::Value moved = dispatch::transfer(value_, device);
  if (!requires_grad() || !grad_enabled()) return Tensor(std::move(moved), context_);
  return Tensor(std::move(moved), context_, {autodiff::Node::transfer(*this), 0});
}

Tensor Tensor::astype(DType dtype) const { return remora::astype(*this, dtype); }
Tensor Tensor::reshape(const Shape& shape) const { return remora::reshape(*this, shape); }
Tensor Tensor::slice(int64_t axis, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  return remora::slice(*this, axis, start, end, step);
}
Tensor Tensor::select(int64_t axis, int64_t index) const {
  return remora::select(*this, axis, index);
}

bool Tensor::is_leaf() const {
  return edge_.node != nullptr && edge_.node->kind() == autodiff::Node::Kind::kLeaf;
}

Tensor Tensor::require_grad() const {
  if (!is_float(dtype())) {
    refuse("require_grad", str_cat("a tensor of ", dtype_name(dtype()),
                                   " has no gradient; only floating-point tensors do"));
  }
  if (value()->device().device().kind() == BackendKind::kCapture) {
    fail_precondition(
        str_cat("require_grad: ", device().str(), " records a graph and tracks no gradients"));
  }
  if (!context_.enabled) {
    fail_precondition(str_cat("require_grad: the tensor was made on ", device().str(),
                              " without autodiff; make it on device.autodiff()"));
  }
  if (requires_grad()) return *this;
  return Tensor(value_, context_, {autodiff::Node::leaf(context_), 0});
}

void Tensor::backward(bool keep_tape) const { autodiff::backward(*this, Tensor(), keep_tape); }
void Tensor::backward(const Tensor& cotangent, bool keep_tape) const {
  autodiff::backward(*this, cotangent, keep_tape);
}

std::optional<Tensor> Tensor::grad() const {
  (void)value();
  return is_leaf() ? edge_.node->gradient() : std::nullopt;
}

std::optional<Tensor> Tensor::take_grad() const {
  (void)value();
  return is_leaf() ? edge_.node->exchange_gradient(std::nullopt) : std::nullopt;
}

void Tensor::set_grad(const std::optional<Tensor>& gradient) const {
  (void)value();
  if (!is_leaf()) fail_precondition("set_grad: this tensor is no leaf; require_grad() makes one");
  if (gradient && gradient->spec() != spec()) {
    refuse("set_grad",
           str_cat("the gradient is ", gradient->spec().str(), ", the tensor ", spec().str()));
  }
  edge_.node->exchange_gradient(gradient ? std::optional(gradient->inner()) : std::nullopt);
}

Tensor from_host(dispatch::HostData data, const Device& device) {
  return Tensor(dispatch::upload(device, std::move(data)), AutodiffContext::of(device));
}

Tensor from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                  const Device& device) {
  require_shape("from_data", shape);
  Spec spec{dtype, shape};
  if (static_cast<int64_t>(bytes.size()) != spec.byte_size()) {
    refuse("from_data",
           str_cat(static_cast<int64_t>(bytes.size()) / dtype_size(dtype),
                   " elements do not fill the shape ", shape.str(), ", which has ", spec.numel()));
  }
  return from_host(dispatch::HostData::copy_of(std::move(spec), bytes), device);
}

Tensor from_literals(std::span<const double> data, const Shape& shape, const Device& device) {
  const DType dtype = device_settings(device).float_dtype;
  if (dtype == DType::kF64) return from_data(data, shape, device);
  if (dtype != DType::kF32) return astype(from_data(data, shape, device), dtype);
  return from_data(std::vector<float>(data.begin(), data.end()), shape, device);
}

Tensor from_literals(std::span<const int64_t> data, const Shape& shape, const Device& device) {
  return astype(from_data(data, shape, device), device_settings(device).int_dtype);
}

}  // namespace remora
