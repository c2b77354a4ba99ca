// Attributes of operations: one small struct per shape of attributes, each with one `fields()`
// list. Hashing, keys, the wire codec and printing walk `fields()`; none knows any op.
//
// A field is `key` (it affects shapes or code, so it is part of a plan's key) or `param` (it
// changes from step to step: slice starts, fill values, RNG offsets; it travels in slots beside the
// key). Of a param field only the structure (a scalar's kind, a list's length) is in the key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "dispatch/attr_fields.h"
#include "dispatch/attrs_algebra.h"
#include "dispatch/shape.h"

namespace remora::dispatch {

struct NoAttrs {
  static constexpr auto fields() { return std::tuple<>(); }
  bool operator==(const NoAttrs&) const = default;
};

/// A constant tensor.
struct FullAttrs {
  DType dtype = DType::kF32;
  Shape shape;
  Scalar value;
  static constexpr auto fields() {
    return std::make_tuple(key("dtype", &FullAttrs::dtype), key("shape", &FullAttrs::shape),
                           param("value", &FullAttrs::value));
  }
  bool operator==(const FullAttrs&) const = default;
};

/// start, start + step, ...: `count` elements.
struct ArangeAttrs {
  DType dtype = DType::kI64;
  int64_t count = 0;
  Scalar start;
  Scalar step;
  static constexpr auto fields() {
    return std::make_tuple(key("dtype", &ArangeAttrs::dtype), key("count", &ArangeAttrs::count),
                           param("start", &ArangeAttrs::start), param("step", &ArangeAttrs::step));
  }
  bool operator==(const ArangeAttrs&) const = default;
};

/// A random draw: Philox key and counter offset (in blocks of four 32-bit words).
struct RandomAttrs {
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t seed = 0;
  uint64_t offset = 0;
  static constexpr auto fields() {
    return std::make_tuple(key("dtype", &RandomAttrs::dtype), key("shape", &RandomAttrs::shape),
                           param("seed", &RandomAttrs::seed),
                           param("offset", &RandomAttrs::offset));
  }
  bool operator==(const RandomAttrs&) const = default;
};

struct DTypeAttrs {
  DType dtype = DType::kF32;
  static constexpr auto fields() { return std::make_tuple(key("dtype", &DTypeAttrs::dtype)); }
  bool operator==(const DTypeAttrs&) const = default;
};

/// Reduced axes, each in [0, rank), ascending, without duplicates.
struct ReduceAttrs {
  Dims axes;
  bool keepdims = false;
  static constexpr auto fields() {
    return std::make_tuple(key("axes", &ReduceAttrs::axes),
                           key("keepdims", &ReduceAttrs::keepdims));
  }
  bool operator==(const ReduceAttrs&) const = default;
};

/// One axis in [0, rank).
struct AxisAttrs {
  int64_t axis = 0;
  static constexpr auto fields() { return std::make_tuple(key("axis", &AxisAttrs::axis)); }
  bool operator==(const AxisAttrs&) const = default;
};

/// Like AxisAttrs, for reductions to an index.
struct ArgReduceAttrs {
  int64_t axis = 0;
  bool keepdims = false;
  static constexpr auto fields() {
    return std::make_tuple(key("axis", &ArgReduceAttrs::axis),
                           key("keepdims", &ArgReduceAttrs::keepdims));
  }
  bool operator==(const ArgReduceAttrs&) const = default;
};

/// The shape of the result.
struct ShapeAttrs {
  Shape shape;
  static constexpr auto fields() { return std::make_tuple(key("shape", &ShapeAttrs::shape)); }
  bool operator==(const ShapeAttrs&) const = default;
};

/// Output axis i is input axis `axes[i]`.
struct PermuteAttrs {
  Dims axes;
  static constexpr auto fields() { return std::make_tuple(key("axes", &PermuteAttrs::axes)); }
  bool operator==(const PermuteAttrs&) const = default;
};

/// Along axis i: elements starts[i] + k * steps[i] for k in [0, sizes[i]). Steps are not zero;
/// starts may change from step to step, so they are a param and the kernel checks them.
struct SliceAttrs {
  Dims starts;
  Dims steps;
  Dims sizes;
  static constexpr auto fields() {
    return std::make_tuple(param("starts", &SliceAttrs::starts), key("steps", &SliceAttrs::steps),
                           key("sizes", &SliceAttrs::sizes));
  }
  bool operator==(const SliceAttrs&) const = default;
};

/// 2-D convolution over [N, C, H, W]; two entries (height, width) each. `shape` is the result of a
/// gradient op (the input's or the weight's shape) and empty for the convolution itself.
struct ConvAttrs {
  Dims stride = {1, 1};
  Dims padding = {0, 0};
  Dims dilation = {1, 1};
  int64_t groups = 1;
  Shape shape;
  static constexpr auto fields() {
    return std::make_tuple(key("stride", &ConvAttrs::stride), key("padding", &ConvAttrs::padding),
                           key("dilation", &ConvAttrs::dilation), key("groups", &ConvAttrs::groups),
                           key("shape", &ConvAttrs::shape));
  }
  bool operator==(const ConvAttrs&) const = default;
};

/// 2-D pooling windows over [N, C, H, W]; two entries (height, width) each.
struct PoolAttrs {
  Dims kernel = {1, 1};
  Dims stride = {1, 1};
  Dims padding = {0, 0};
  Dims dilation = {1, 1};
  bool ceil_mode = false;
  static constexpr auto fields() {
    return std::make_tuple(key("kernel", &PoolAttrs::kernel), key("stride", &PoolAttrs::stride),
                           key("padding", &PoolAttrs::padding),
                           key("dilation", &PoolAttrs::dilation),
                           key("ceil_mode", &PoolAttrs::ceil_mode));
  }
  bool operator==(const PoolAttrs&) const = default;
};

/// The order of a derivative.
struct OrderAttrs {
  int64_t order = 0;
  static constexpr auto fields() { return std::make_tuple(key("order", &OrderAttrs::order)); }
  bool operator==(const OrderAttrs&) const = default;
};

/// Order along one axis.
struct SortAttrs {
  int64_t axis = 0;
  bool descending = false;
  static constexpr auto fields() {
    return std::make_tuple(key("axis", &SortAttrs::axis),
                           key("descending", &SortAttrs::descending));
  }
  bool operator==(const SortAttrs&) const = default;
};

/// How elements that meet are combined: 0 multiplied, 1 the smallest, 2 the largest.
struct ScatterAttrs {
  int64_t axis = 0;
  int64_t reduction = 0;
  static constexpr auto fields() {
    return std::make_tuple(key("axis", &ScatterAttrs::axis),
                           key("reduction", &ScatterAttrs::reduction));
  }
  bool operator==(const ScatterAttrs&) const = default;
};

using Attrs = std::variant<NoAttrs, FullAttrs, ArangeAttrs, RandomAttrs, DTypeAttrs, ReduceAttrs,
                           AxisAttrs, ArgReduceAttrs, ShapeAttrs, PermuteAttrs, SliceAttrs,
                           ConvAttrs, PoolAttrs, OrderAttrs, SortAttrs, ScatterAttrs, TriangleAttrs,
                           FactorAttrs, ToleranceAttrs, FftAttrs, AttentionAttrs>;

/// Calls `visit(field)` for each field of `attrs`' active struct, with the field's value, in order.
template <typename AnyAttrs, typename Visitor>
void visit_fields(AnyAttrs& attrs, Visitor&& visit) {
  std::visit(
      [&](auto& active) {
        std::apply([&](const auto&... field) { (visit(field, active.*(field.member)), ...); },
                   std::remove_cvref_t<decltype(active)>::fields());
      },
      attrs);
}

/// Number of 64-bit slots the param fields of `attrs` take.
size_t param_count(const Attrs& attrs);
/// Appends the param fields as 64-bit slots, in field order.
void append_params(const Attrs& attrs, std::vector<uint64_t>& slots);
/// Sets the param fields from `param_count(attrs)` slots.
void set_params(Attrs& attrs, std::span<const uint64_t> slots);
/// "axes=[0, 1] keepdims=false".
std::string attrs_str(const Attrs& attrs);

}  // namespace remora::dispatch
