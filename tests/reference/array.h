// Tensors of the slow reference: every element a double or a 64-bit integer, row-major, on the
// heap. Plain values; speed does not matter here, being obviously right does.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dispatch/buffer.h"
#include "dispatch/shape.h"

namespace remora::reference {

/// Holds every value of every integer dtype, and what adding or subtracting two of them gives.
using Integer = __int128;

/// A tensor. Float dtypes fill `reals`, integers and bool (0 or 1) fill `integers`: their values,
/// except that u64 is there as its bits.
struct Array {
  Spec spec;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  Array() = default;
  /// All elements 0.
  explicit Array(Spec spec_in);

  bool is_real() const { return is_float(spec.dtype); }
  int64_t rank() const { return spec.shape.rank(); }
  int64_t numel() const { return spec.numel(); }
  /// The element at `offset` as a double, whatever the dtype.
  double as_real(int64_t offset) const;
  /// The element's value, of an integer or bool.
  Integer integer(size_t offset) const;
  /// Stores what `value` wraps to in the dtype.
  void set_integer(size_t offset, Integer value);
};

/// What the integer wraps to in `dtype`, as `Array::integers` holds it.
int64_t wrap_to(DType dtype, Integer value);
/// `value` rounded to nearest even in a floating-point dtype.
double round_to(DType dtype, double value);
/// Distance from |value| to the next larger number of a floating-point dtype; 0 if not finite.
double ulp_of(DType dtype, double value);

/// Row-major offset of `index` in `shape`.
int64_t offset_of(const Shape& shape, const Dims& index);

/// Calls `visit(index, offset)` for every index of `shape`, in row-major order.
void for_each(const Shape& shape, const std::function<void(const Dims&, int64_t)>& visit);

/// Copies element `from` of `source` to element `to` of `target`; their dtypes are alike.
void copy_element(const Array& source, int64_t from, Array& target, int64_t to);

/// `array` under NumPy broadcasting to `shape`.
Array broadcast(const Array& array, const Shape& shape);

/// The bytes of `array` in its dtype. Reals round to nearest even.
dispatch::HostData to_host(const Array& array);
Array from_host(const dispatch::HostData& data);

}  // namespace remora::reference
