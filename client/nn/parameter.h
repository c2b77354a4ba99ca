// Parameter: a trainable tensor that a module and an optimizer share. Copies of a Parameter are the
// same parameter.
#pragma once

#include <functional>
#include <memory>

#include "client/tensor.h"

namespace remora::nn {

/// Made by modules, with the recipe of its first values. The values are drawn where they are first
/// needed: `to(device)` draws them there from the device's generator, so that no other device is
/// ever opened. Not thread-safe.
class Parameter {
 public:
  using Initializer = std::function<Tensor(const Device&)>;

  /// A parameter of `shape`; `initializer` makes its values on a given device.
  Parameter(Shape shape, Initializer initializer);
  /// One that no gradient flows into and no optimizer sees, of any element type: a module's running
  /// statistics.
  static Parameter buffer(DType dtype, Shape shape, Initializer initializer);

  /// Shape and element type; a trainable one's type is f32 until values are drawn.
  const Spec& spec() const { return slot_->spec; }
  const Shape& shape() const { return slot_->spec.shape; }
  DType dtype() const { return slot_->spec.dtype; }
  /// The values, as a leaf that receives gradients where the device tracks them. Drawn on the
  /// default device if `to` was never called.
  const Tensor& tensor() const;
  /// Moves the values to `device`, or draws them there; a gradient held so far is dropped. On an
  /// autodiff device the parameter is tracked.
  void to(const Device& device);
  /// Replaces the values and keeps the leaf with its gradient: what an optimizer does.
  /// INVALID_ARGUMENT unless the dtype and shape are the same.
  void set(const Tensor& values);
  /// Gives it values by another recipe: at once if it has values already, else when it is drawn.
  void initialize(Initializer initializer);
  /// Replaces the values by `values`, moved to the parameter's device. One that was not drawn yet
  /// draws nothing: it takes them where they are. INVALID_ARGUMENT unless they are of `spec()`.
  void load(const Tensor& values);
  /// True if both are one parameter.
  bool operator==(const Parameter& other) const { return slot_ == other.slot_; }

 private:
  struct Slot {
    Spec spec;
    bool trainable;
    Initializer initializer;
    Tensor tensor;
  };
  Parameter(Spec spec, bool trainable, Initializer initializer);
  void draw(const Device& device) const;
  std::shared_ptr<Slot> slot_;
};

/// Uniform in [-bound, bound).
Parameter uniform_parameter(const Shape& shape, double bound);
/// Every element `value`.
Parameter constant_parameter(const Shape& shape, double value);

}  // namespace remora::nn
