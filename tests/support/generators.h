// Inputs of tests, drawn from a seed: the same seed gives the same elements on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/reference/array.h"

namespace remora::test {

/// A small deterministic generator (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in [0, bound). Requires bound > 0.
  int64_t below(int64_t bound);
  /// Uniform in [low, high).
  double between(double low, double high);
  bool chance(double probability) { return between(0.0, 1.0) < probability; }

 private:
  uint64_t state_;
};

/// How the elements of an input are chosen.
enum class Fill : uint8_t {
  kUniform,   // in [low, high), integers included
  kDistinct,  // all different, at least 0.05 apart: no ties, no kinks within a finite difference
  kListed,    // as given
  kSpecial,   // NaN, infinities, both zeros, denormals, the largest and the smallest of the dtype
  kMatrix,    // matrices near diag(1, 2, ..): well conditioned, with separated singular values
  kSymmetric  // the same, symmetric: positive definite too
};

/// An input of an op case.
struct Input {
  Spec spec;
  Fill fill = Fill::kUniform;
  double low = -2.0;
  double high = 2.0;
  std::vector<double> values = {};
  bool is_index = false;  // i64 in every variant of a case
  bool is_wide = false;   // f32 in the variants of 16 bits
};

Input f32(Shape shape, double low = -2.0, double high = 2.0);
Input i64(Shape shape, int64_t low = -9, int64_t high = 10);
Input boolean(Shape shape);
/// i64 indices in [0, bound).
Input index(Shape shape, int64_t bound);
Input distinct(Shape shape);
/// f32 matrices of at most 100 rows or columns: the last two axes of `shape`.
Input matrix(Shape shape);
Input symmetric(Shape shape);
/// The elements themselves; a list of f32 or of another dtype.
Input listed(Shape shape, std::vector<double> values, DType dtype = DType::kF32);
/// A vector of kSpecialCount special values.
Input special_floats();
inline constexpr int64_t kSpecialCount = 14;

/// The elements of `input`: representable in its dtype.
reference::Array generate(const Input& input, uint64_t seed);

/// A seed made of names, so that a case keeps its inputs when others are added.
uint64_t seed_of(std::string_view first, std::string_view second);

}  // namespace remora::test
