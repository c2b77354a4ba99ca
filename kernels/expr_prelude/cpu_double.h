// Functions of double without branches or library calls, so that loops over them are vectorised:
// what f64 rows are made of, within 2 ULP. Polynomials are minimax fits (Chebyshev, 40 digits), the
// reductions those of fdlibm.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace remora::cpu {

/// Highest power first; every coefficient is a double.
template <typename... Rest>
[[gnu::always_inline]] inline double d_polynomial(double x, double first, Rest... rest) {
  double result = first;
  ((result = std::fma(result, x, rest)), ...);
  return result;
}

/// Adding it rounds to the nearest integer, which is then in the low bits.
inline constexpr double kDoubleRounder = 6755399441055744.0;  // 1.5 * 2^52

/// 2^n of a whole n in [-1022, 1023], given as n + kDoubleRounder.
[[gnu::always_inline]] inline double d_power_of_two(double shifted) {
  return std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023u) << 52);
}

/// e^x, denormal results included.
[[gnu::always_inline]] inline double d_exp(double x) {
  const double clamped = x < -746.0 ? -746.0 : (x > 710.0 ? 710.0 : x);
  const double n = std::fma(clamped, 1.4426950408889634, kDoubleRounder) - kDoubleRounder;
  double r = std::fma(n, -6.93147180369123816490e-01, clamped);
  r = std::fma(n, -1.90821492927058770002e-10, r);
  const double p =
      d_polynomial(r, 2.09147553258932021e-09, 2.51053127296221029e-08, 2.75572734787185824e-07,
                   2.75572551700008879e-06, 2.48015873256774607e-05, 1.98412698750022792e-04,
                   1.38888888888837113e-03, 8.33333333332608381e-03, 4.16666666666666713e-02,
                   1.66666666666666713e-01, 0.5);
  const double value = std::fma(p, r * r, r) + 1.0;
  // In two factors: n can be outside a double's exponents.
  const double half = std::fma(n, 0.5, kDoubleRounder);
  const double rest = (n - (half - kDoubleRounder)) + kDoubleRounder;
  return value * d_power_of_two(half) * d_power_of_two(rest);
}

/// log(x) of a positive finite x; some number of any other.
[[gnu::always_inline]] inline double d_log_of_positive(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDu;  // sqrt(1/2)
  const bool tiny = x < std::numeric_limits<double>::min();
  const double scaled = tiny ? x * 18014398509481984.0 : x;  // 2^54
  // The mantissa in [sqrt(1/2), sqrt(2)) and the exponent that goes with it.
  const uint64_t bits = std::bit_cast<uint64_t>(scaled) + (0x3FF0000000000000u - kRootHalf);
  const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) -
                          (4503599627370496.0 + 1023.0) - (tiny ? 54.0 : 0.0);
  const double f = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double r =
      z * d_polynomial(z, 1.30880348509275546e-01, 1.32686383692668247e-01, 1.53862447376216654e-01,
                       1.81817955475211374e-01, 2.22222223925810453e-01, 2.85714285707997839e-01,
                       4.00000000000008848e-01, 6.66666666666666630e-01);
  const double half_square = 0.5 * f * f;
  const double low = std::fma(s, half_square + r, exponent * 1.90821492927058770002e-10);
  return exponent * 6.93147180369123816490e-01 - ((half_square - low) - f);
}

/// log(x).
[[gnu::always_inline]] inline double d_log(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double result = d_log_of_positive(x);
  const double positive = x == kInfinity ? x : result;
  const double finite = x == 0.0 ? -kInfinity : positive;
  return static_cast<bool>((x < 0.0) | (x != x)) ? std::numeric_limits<double>::quiet_NaN()
                                                 : finite;
}

/// sin(x + quarters * pi / 2) for |x| < 1e5; the reduction is Cody and Waite's, in
/// three parts.
[[gnu::always_inline]] inline double d_sin(double x, uint64_t quarters) {
  const double shifted = std::fma(x, 6.36619772367581382433e-01, kDoubleRounder);
  const double n = shifted - kDoubleRounder;
  double r = std::fma(n, -1.57079632679489655800e+00, x);
  r = std::fma(n, -6.12323399573676603587e-17, r);
  r = std::fma(n, 1.49738490485916983e-33, r);
  const double z = r * r;
  const double sine_part =
      d_polynomial(z, 1.59178485248082617e-10, -2.50511279440141876e-08, 2.75573160838163581e-06,
                   -1.98412698367224182e-04, 8.33333333333092542e-03, -1.66666666666666657e-01);
  const double s = x == 0.0 ? x : std::fma(r * z, sine_part, r);  // -0 is lost on the way
  const double cosine_part =
      d_polynomial(z, 4.74580488976067427e-14, -1.14704597496756069e-11, 2.08767557838940379e-09,
                   -2.75573192213821143e-07, 2.48015873015846182e-05, -1.38888888888888873e-03,
                   4.16666666666666644e-02);
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  const double c = w + std::fma(z * z, cosine_part, (1.0 - w) - half);
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted) + quarters;
  const double value = (quadrant & 1u) != 0 ? c : s;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ ((quadrant & 2u) << 62));
}

/// tanh(x).
[[gnu::always_inline]] inline double d_tanh(double x) {
  const double magnitude = std::fabs(x);
  const double z = x * x;
  const double small = std::fma(
      x * z,
      d_polynomial(z, -1.69257198880615849e-05, 7.89991236309280120e-05, -2.30297279194274952e-04,
                   5.87226419141852240e-04, -1.45525336200899168e-03, 3.59204982639238545e-03,
                   -8.86322892311946185e-03, 2.18694882090666454e-02, -5.39682539599200262e-02,
                   1.33333333333250287e-01, -3.33333333333333204e-01),
      x);
  const double far = 1.0 - 2.0 / (d_exp(magnitude + magnitude) + 1.0);
  return std::copysign(magnitude < 0.625 ? small : far, x);
}

}  // namespace remora::cpu
