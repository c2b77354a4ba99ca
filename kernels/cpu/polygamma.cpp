// Derivatives of digamma through the Hurwitz zeta function.
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/strided.h"
#include "kernels/expr_prelude/cpu_special.h"

namespace remora::cpu {
namespace {

constexpr double kPolygammaNs = 60.0;

/// sum of (q + k)^-s over k >= 0, for q > 0 and s >= 2: nine terms, then Euler and Maclaurin.
double zeta(double s, double q) {
  constexpr int kTerms = 9;
  double sum = 0.0;
  for (int k = 0; k < kTerms; ++k) sum += std::pow(q + k, -s);
  const double w = q + kTerms;
  const double power = std::pow(w, -s);
  sum += power * w / (s - 1.0) + 0.5 * power;
  // B(2j) / (2j)! times s (s + 1) .. (s + 2j - 2) w^(1 - s - 2j)
  constexpr double kCoefficients[] = {1.0 / 12.0,          -1.0 / 720.0,
                                      1.0 / 30240.0,       -1.0 / 1209600.0,
                                      1.0 / 47900160.0,    -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0, -3617.0 / 10670622842880000.0};
  double factor = s * power / w;
  for (int j = 0; j < 8; ++j) {
    sum += kCoefficients[j] * factor;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (w * w);
  }
  return sum;
}

/// The same for any q but the integers up to 0, s even or odd: terms below 0 are those of a series
/// upwards from the fraction, with a sign.
double signed_zeta(int64_t order, double q) {
  const auto s = static_cast<double>(order) + 1.0;
  if (q != q) return q;
  if (q > 0.0) return q > 1e300 ? 0.0 : zeta(s, q);
  if (q == std::floor(q)) return std::numeric_limits<double>::infinity();
  const double fraction = std::ceil(q) - q;  // of the term nearest below 0
  const double below = zeta(s, fraction) - zeta(s, 1.0 - q);
  return zeta(s, 1.0 - fraction) + (order % 2 == 0 ? -below : below);
}

double polygamma_of(int64_t order, double x) {
  if (order == 0) return r_digamma(x);
  const double factorial = std::tgamma(static_cast<double>(order) + 1.0);
  return (order % 2 == 0 ? -factorial : factorial) * signed_zeta(order, x);
}

}  // namespace

namespace kernels {

absl::Status polygamma(const KernelCall& call) {
  const int64_t order = call.attributes<dispatch::OrderAttrs>().order;
  return with_type(call.in(0).dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      return absl::OkStatus();  // the catalogue has no such row
    } else {
      const auto nest = broadcast_nest<1>(call.out().sizes, {&call.in(0)});
      const int64_t stride = nest.inner_strides()[0];
      for_blocks(call, nest.numel, kPolygammaNs, [&](int64_t begin, int64_t end) {
        for_rows(nest, begin, end, [&](const auto& offsets, int64_t position, int64_t count) {
          const T* x = call.in(0).as<const T>() + offsets[0];
          T* out = call.out().as<T>() + position;
          for (int64_t i = 0; i < count; ++i) {
            const auto value = static_cast<double>(Element<T>::load(x[i * stride]));
            out[i] = Element<T>::store(
                static_cast<typename Element<T>::Compute>(polygamma_of(order, value)));
          }
        });
      });
      return absl::OkStatus();
    }
  });
}

}  // namespace kernels
}  // namespace remora::cpu
