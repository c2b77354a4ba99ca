// Attributes of factorisations, solvers, transforms and attention; attrs.h says what attributes
// are.
#pragma once

#include <tuple>

#include "dispatch/attr_fields.h"

namespace remora::dispatch {

/// Which triangle of a matrix is read, and whether its diagonal counts as ones.
struct TriangleAttrs {
  bool upper = false;
  bool unit = false;
  static constexpr auto fields() {
    return std::make_tuple(key("upper", &TriangleAttrs::upper), key("unit", &TriangleAttrs::unit));
  }
  bool operator==(const TriangleAttrs&) const = default;
};

/// How the scores of attention are scaled, and whether query i sees keys 0 .. i only.
struct AttentionAttrs {
  bool causal = false;
  Scalar scale;
  static constexpr auto fields() {
    return std::make_tuple(key("causal", &AttentionAttrs::causal),
                           param("scale", &AttentionAttrs::scale));
  }
  bool operator==(const AttentionAttrs&) const = default;
};

/// The direction of a Fourier transform: exp(-2 pi i j k / n), or its conjugate.
struct FftAttrs {
  bool inverse = false;
  static constexpr auto fields() { return std::make_tuple(key("inverse", &FftAttrs::inverse)); }
  bool operator==(const FftAttrs&) const = default;
};

/// Whether a factorisation gives square orthogonal factors or only the columns that matter.
struct FactorAttrs {
  bool full = false;
  static constexpr auto fields() { return std::make_tuple(key("full", &FactorAttrs::full)); }
  bool operator==(const FactorAttrs&) const = default;
};

/// What counts as 0, relative to the largest.
struct ToleranceAttrs {
  Scalar relative;
  static constexpr auto fields() {
    return std::make_tuple(param("relative", &ToleranceAttrs::relative));
  }
  bool operator==(const ToleranceAttrs&) const = default;
};

}  // namespace remora::dispatch
