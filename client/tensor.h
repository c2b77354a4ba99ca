// Tensor: an n-dimensional array on some device. A small value: copying one copies a handle, and no
// operation ever changes a tensor. An operation returns at once; only reads (`item`, `to_vector`,
// printing) wait.
//
// Several threads may use one tensor at once; one Tensor object must not be assigned while another
// thread reads that same object.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "client/autodiff/context.h"
#include "client/read_future.h"
#include "dispatch/attrs.h"
#include "dispatch/device.h"
#include "dispatch/value.h"

namespace remora {

namespace autodiff {
class Node;
class SavedValue;

/// Where a tracked tensor comes from: output `output` of a tape node.
struct Edge {
  std::shared_ptr<Node> node;
  uint32_t output = 0;
  explicit operator bool() const { return node != nullptr; }
};
}  // namespace autodiff

class Tensor {
 public:
  /// No tensor: every use except `defined()` and assignment throws FAILED_PRECONDITION.
  Tensor() = default;
  /// A tensor of a dispatch value; what operations make.
  explicit Tensor(dispatch::Value value, AutodiffContext context = {}, autodiff::Edge edge = {},
                  std::shared_ptr<autodiff::SavedValue> saved = nullptr)
      : value_(std::move(value)),
        context_(context),
        edge_(std::move(edge)),
        saved_(std::move(saved)) {}

  bool defined() const { return static_cast<bool>(value_); }
  const Shape& shape() const { return spec().shape; }
  int64_t size(int64_t axis) const;
  int64_t rank() const { return shape().rank(); }
  int64_t numel() const { return shape().numel(); }
  DType dtype() const { return spec().dtype; }
  const Spec& spec() const { return value()->spec(); }
  /// Where it lives, with the autodiff flags of its context: tensors made there join it.
  Device device() const;

  // -- reading: waits for the result. Each throws what made the computation fail, or UNAVAILABLE
  // when the worker that held the tensor is gone.

  /// The only element, converted to T. INVALID_ARGUMENT unless there is exactly one.
  template <typename T>
  T item() const {
    return read_async().item<T>();
  }
  /// All elements, row-major. INVALID_ARGUMENT unless T is the tensor's element type; f16 and bf16
  /// are read as float.
  template <typename T>
  std::vector<T> to_vector() const {
    return read_async().to_vector<T>();
  }
  /// Asks for the bytes without waiting for them.
  ReadFuture read_async() const;
  /// What operator<< prints, in one read.
  std::string str() const;

  // -- moving

  /// The same elements on `device`; differentiable. The same device: the tensor itself. The
  /// autodiff flags of `device` are ignored: the context is kept.
  Tensor to(const Device& device) const;
  /// Converted to another element type; see `remora::astype`.
  Tensor astype(DType dtype) const;
  Tensor reshape(const Shape& shape) const;

  // -- slicing, with NumPy's rules: a negative index counts from the end, bounds are clamped

  /// Elements start, start + step, ... before `end` along `axis`; absent bounds mean the whole
  /// axis. A negative step walks backwards. INVALID_ARGUMENT for a step of 0 or an axis out of
  /// range.
  Tensor slice(int64_t axis, std::optional<int64_t> start,
               std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
  /// The elements at `index` of `axis`, which disappears. INVALID_ARGUMENT if it is out of range.
  Tensor select(int64_t axis, int64_t index) const;
  /// `select(0, index)`.
  Tensor operator[](int64_t index) const { return select(0, index); }

  // -- gradients

  const AutodiffContext& context() const { return context_; }
  /// True if operations on this tensor are recorded on the tape.
  bool requires_grad() const { return static_cast<bool>(edge_); }
  /// True if gradients accumulate here: made by `require_grad()`.
  bool is_leaf() const;
  /// This tensor as a leaf that receives gradients; itself if it is tracked already.
  /// FAILED_PRECONDITION for a tensor of a device without autodiff, INVALID_ARGUMENT for integers
  /// and booleans.
  Tensor require_grad() const;
  /// The same elements, untracked.
  Tensor detach() const { return Tensor(value(), context_, {}, saved_); }
  /// The same elements as a plain tensor: context Disabled, untracked.
  Tensor inner() const { return Tensor(value()); }
  /// A plain tensor with a context, untracked.
  static Tensor from_inner(const Tensor& inner, AutodiffContext context) {
    return Tensor(inner.value(), context);
  }
  /// Accumulates d(this) / d(leaf) on every leaf it depends on. INVALID_ARGUMENT unless there is
  /// exactly one element; FAILED_PRECONDITION for an untracked tensor or a tape consumed before.
  /// The tape is consumed unless `keep_tape`.
  void backward(bool keep_tape = false) const;
  /// The same for sum(this * cotangent); `cotangent` has this tensor's shape.
  void backward(const Tensor& cotangent, bool keep_tape = false) const;
  /// The gradient accumulated on this leaf, a plain tensor; nothing for any other tensor.
  std::optional<Tensor> grad() const;
  /// The same, and clears it.
  std::optional<Tensor> take_grad() const;
  /// Replaces or clears the gradient of this leaf. INVALID_ARGUMENT unless its shape and dtype are
  /// the tensor's; FAILED_PRECONDITION if this is no leaf.
  void set_grad(const std::optional<Tensor>& gradient) const;

  const dispatch::Value& value() const;
  const autodiff::Edge& edge() const { return edge_; }
  /// How backward may have the value again; nothing without Balanced checkpointing.
  const std::shared_ptr<autodiff::SavedValue>& saved() const { return saved_; }

 private:
  dispatch::Value value_;
  AutodiffContext context_;
  autodiff::Edge edge_;
  std::shared_ptr<autodiff::SavedValue> saved_;
};

/// Prints as PyTorch does: `tensor([[1., 2.], [3., 4.]])`. Reads the tensor once.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// While one is alive on a thread, that thread's operations are not recorded on the tape.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
};
/// `auto guard = no_grad();`
[[nodiscard]] inline NoGrad no_grad() { return NoGrad(); }
/// False inside a NoGrad scope.
bool grad_enabled();

/// Asks for several tensors at once, without waiting for them: those of one worker take one round
/// trip. `read_all({loss, accuracy})[0].item<float>()`.
std::vector<ReadFuture> read_all(std::span<const Tensor> tensors);
std::vector<ReadFuture> read_all(std::initializer_list<Tensor> tensors);

/// Seeds the generator of every device, those opened later too: the same seed gives the same bits
/// everywhere.
void manual_seed(uint64_t seed);

/// A tensor of host data; the bytes are copied before it returns, and nothing waits.
Tensor from_host(dispatch::HostData data, const Device& device);
/// The bytes of `shape` elements of type `dtype`, row-major.
Tensor from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                  const Device& device = Device::default_device());

/// A tensor of `data`, row-major; its element type is T's, and `astype` makes f16 or bf16 of f32.
/// INVALID_ARGUMENT unless the count fits `shape`.
template <typename T>
Tensor from_data(std::span<const T> data, const Shape& shape,
                 const Device& device = Device::default_device()) {
  return from_bytes(std::as_bytes(data), DTypeOf<std::remove_cv_t<T>>::kValue, shape, device);
}
template <typename T>
Tensor from_data(const std::vector<T>& data, const Shape& shape,
                 const Device& device = Device::default_device()) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto bytes = std::make_unique<bool[]>(data.size());
    std::copy(data.begin(), data.end(), bytes.get());
    return from_data(std::span<const bool>(bytes.get(), data.size()), shape, device);
  } else {
    return from_data(std::span<const T>(data), shape, device);
  }
}
/// `data` converted to the default dtype of the device for such numbers
/// (dispatch/device_settings.h): f32, i64 unless set otherwise.
Tensor from_literals(std::span<const double> data, const Shape& shape, const Device& device);
Tensor from_literals(std::span<const int64_t> data, const Shape& shape, const Device& device);

/// Literals take the default dtypes of the device, as scalars in expressions do: i64 and f32 unless
/// set otherwise.
template <typename T>
Tensor from_data(std::initializer_list<T> data, const Shape& shape,
                 const Device& device = Device::default_device()) {
  if constexpr (std::is_same_v<T, int>) {
    return from_literals(std::vector<int64_t>(data.begin(), data.end()), shape, device);
  } else if constexpr (std::is_same_v<T, double>) {
    return from_literals(std::span<const double>(data.begin(), data.size()), shape, device);
  } else {
    return from_data(std::vector<T>(data), shape, device);
  }
}

}  // namespace remora
