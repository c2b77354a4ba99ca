// Shapes and Specs: what is known of a tensor before it is computed. Plain values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "dispatch/dtype.h"

namespace remora {

/// A short list of sizes, strides or axes.
using Dims = absl::InlinedVector<int64_t, 6>;

/// The sizes of a tensor's axes, outermost first. Rank 0 is a scalar; a size may be 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::span<const int64_t> sizes) : sizes_(sizes.begin(), sizes.end()) {}
  explicit Shape(Dims sizes) : sizes_(std::move(sizes)) {}

  int64_t rank() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t operator[](int64_t axis) const { return sizes_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int64_t axis) { return sizes_[static_cast<size_t>(axis)]; }
  const Dims& sizes() const { return sizes_; }
  Dims& sizes() { return sizes_; }
  /// Number of elements; 1 for rank 0. The shape must have passed `check_shape`.
  int64_t numel() const;
  /// "[2, 3]"; "[]" for rank 0.
  std::string str() const;

  bool operator==(const Shape&) const = default;

 private:
  Dims sizes_;
};

/// Element type and shape of a tensor.
struct Spec {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t numel() const { return shape.numel(); }
  int64_t byte_size() const { return shape.numel() * dtype_size(dtype); }
  /// "f32[2, 3]".
  std::string str() const;
  bool operator==(const Spec&) const = default;
};

/// `sum + more`, or `cap` if that is less. None is negative and `sum` is no more than `cap`, so
/// nothing overflows, whatever sizes a peer names.
constexpr int64_t capped_sum(int64_t sum, int64_t more, int64_t cap) {
  return more < cap - sum ? sum + more : cap;
}

/// INVALID_ARGUMENT unless the rank, every size and the element count are within limits.h.
absl::Status check_shape(const Shape& shape);

/// Element strides of a row-major contiguous tensor.
Dims contiguous_strides(const Shape& shape);

/// NumPy broadcasting of two shapes; INVALID_ARGUMENT names both where they do not fit.
absl::StatusOr<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace remora
