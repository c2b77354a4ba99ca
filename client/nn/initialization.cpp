#include "client/nn/initialization.h"

#include <array>
#include <cmath>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn::init {

namespace {

struct Fans {
  double in;
  double out;
};

Fans fans_of(std::string_view function, const Shape& shape) {
  if (shape.rank() < 2) {
    refuse(function, str_cat("a parameter of shape ", shape.str(),
                             " has no inputs and outputs; it needs two axes or more"));
  }
  const double window = static_cast<double>(shape.numel()) /
                        static_cast<double>(std::max<int64_t>(1, shape[0] * shape[1]));
  return {static_cast<double>(shape[1]) * window, static_cast<double>(shape[0]) * window};
}

double safe_root(double numerator, double denominator) {
  return denominator > 0.0 ? std::sqrt(numerator / denominator) : 0.0;
}

double kaiming_deviation(std::string_view function, const Shape& shape,
                         const KaimingOptions& options) {
  const Fans fans = fans_of(function, shape);
  const double fan = options.fan == Fan::kIn ? fans.in : fans.out;
  return gain_of(options.nonlinearity, options.slope) * safe_root(1.0, fan);
}

double normal_cdf(double x) { return (1.0 + std::erf(x / std::sqrt(2.0))) / 2.0; }

/// sum of c[i] x^(n - i), by Horner's rule.
template <size_t kCount>
Tensor polynomial(const Tensor& x, const std::array<double, kCount>& coefficients) {
  Tensor sum = full_like(x, coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) sum = sum * x + coefficients[i];
  return sum;
}

/// The inverse error function in f32: Giles, "Approximating the erfinv function", GPU Computing
/// Gems, 2011, single precision.
Tensor inverse_erf(const Tensor& x) {
  constexpr std::array kCentral = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                   -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                   -0.00417768164,  0.246640727,    1.50140941};
  constexpr std::array kTail = {-0.000200214257, 0.000100950558, 0.00134934322,
                                -0.00367342844,  0.00573950773,  -0.0076224613,
                                0.00943887047,   1.00167406,     2.83297682};
  const Tensor w = -log((1.0 - x) * (1.0 + x));
  const Tensor tail = sqrt(maximum(w, 5.0)) - 3.0;
  return where(w < 5.0, polynomial(w - 2.5, kCentral), polynomial(tail, kTail)) * x;
}

/// The orthogonal matrix nearest to a matrix with no more rows than columns: Newton and Schulz's
/// iteration, which squares the distance of each singular value from 1 once it is near and
/// multiplies a small one by 1.5 before.
Tensor polar_factor(const Tensor& matrix) {
  constexpr int kIterations = 45;  // 1.5^45 brings up a singular value of 1e-8 of the largest
  Tensor x = matrix / norm(matrix);
  for (int i = 0; i < kIterations; ++i) {
    x = x * 1.5 - matmul(matmul(x, transpose(x)), x) * 0.5;
  }
  return x;
}

}  // namespace

void constant(Parameter parameter, double value) {
  parameter.initialize([shape = parameter.shape(), value](const Device& device) {
    return full(shape, value, device, DType::kF32);
  });
}

void zeros(Parameter parameter) { constant(std::move(parameter), 0.0); }
void ones(Parameter parameter) { constant(std::move(parameter), 1.0); }

void eye(Parameter parameter) {
  const Shape shape = parameter.shape();
  if (shape.rank() != 2) refuse("eye", str_cat("takes rank 2, not ", shape.str()));
  parameter.initialize(
      [shape](const Device& device) { return remora::eye(shape[0], shape[1], device); });
}

void uniform(Parameter parameter, double low, double high) {
  if (!(low <= high && std::isfinite(high - low))) {
    refuse("uniform", str_cat("[", low, ", ", high, ") is no range"));
  }
  parameter.initialize([shape = parameter.shape(), low, high](const Device& device) {
    return remora::uniform(shape, device, low, high, DType::kF32);
  });
}

void normal(Parameter parameter, double mean, double deviation) {
  if (!(deviation >= 0.0 && std::isfinite(deviation) && std::isfinite(mean))) {
    refuse("normal", str_cat("mean ", mean, " and deviation ", deviation,
                             " must be finite, the deviation not negative"));
  }
  parameter.initialize([shape = parameter.shape(), mean, deviation](const Device& device) {
    return remora::normal(shape, device, mean, deviation, DType::kF32);
  });
}

void trunc_normal(Parameter parameter, double mean, double deviation, double low, double high) {
  if (!(deviation > 0.0)) {
    refuse("trunc_normal", str_cat("the deviation is ", deviation, "; it must be positive"));
  }
  if (!(low < high)) {
    refuse("trunc_normal", str_cat("the range [", low, ", ", high, "] is empty"));
  }
  // Uniform between the ends' quantiles, taken through the inverse of the normal's.
  const double first = 2.0 * normal_cdf((low - mean) / deviation) - 1.0;
  const double last = 2.0 * normal_cdf((high - mean) / deviation) - 1.0;
  parameter.initialize([=, shape = parameter.shape()](const Device& device) {
    const dispatch::CallScope scope;
    const Tensor quantile = remora::uniform(shape, device, first, last, DType::kF32);
    const Tensor draws = inverse_erf(quantile) * (deviation * std::sqrt(2.0)) + mean;
    return clip(draws, low, high);
  });
}

void xavier_uniform(Parameter parameter, double gain) {
  const Fans fans = fans_of("xavier_uniform", parameter.shape());
  const double bound = gain * safe_root(6.0, fans.in + fans.out);
  uniform(std::move(parameter), -bound, bound);
}

void xavier_normal(Parameter parameter, double gain) {
  const Fans fans = fans_of("xavier_normal", parameter.shape());
  normal(std::move(parameter), 0.0, gain * safe_root(2.0, fans.in + fans.out));
}

double gain_of(Nonlinearity nonlinearity, std::optional<double> slope) {
  switch (nonlinearity) {
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      return 1.0;
    case Nonlinearity::kTanh:
      return 5.0 / 3.0;
    case Nonlinearity::kRelu:
      return std::sqrt(2.0);
    case Nonlinearity::kLeakyRelu: {
      const double a = slope.value_or(0.01);
      return std::sqrt(2.0 / (1.0 + a * a));
    }
    case Nonlinearity::kSelu:
      return 0.75;
  }
  return 1.0;
}

void kaiming_uniform(Parameter parameter, const KaimingOptions& options) {
  const double deviation = kaiming_deviation("kaiming_uniform", parameter.shape(), options);
  const double bound = std::sqrt(3.0) * deviation;
  uniform(std::move(parameter), -bound, bound);
}

void kaiming_normal(Parameter parameter, const KaimingOptions& options) {
  const double deviation = kaiming_deviation("kaiming_normal", parameter.shape(), options);
  normal(std::move(parameter), 0.0, deviation);
}

void orthogonal(Parameter parameter, double gain) {
  const Shape shape = parameter.shape();
  fans_of("orthogonal", shape);
  parameter.initialize([shape, gain](const Device& device) {
    const dispatch::CallScope scope;
    const int64_t rows = shape[0];
    const int64_t columns = rows == 0 ? 0 : shape.numel() / rows;
    if (shape.numel() == 0) return full(shape, 0.0, device);
    const bool tall = rows > columns;
    const Tensor draws = remora::normal(tall ? Shape{columns, rows} : Shape{rows, columns}, device,
                                        0.0, 1.0, DType::kF32);
    const Tensor factor = polar_factor(draws);
    return reshape(tall ? transpose(factor) : factor, shape) * gain;
  });
}

}  // namespace remora::nn::init
