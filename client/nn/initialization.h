// First values of parameters, by PyTorch's names and formulas. Each function gives its parameter
// another recipe: values are drawn when the parameter is first needed on a device, or at once, from
// its device's generator, if it has values already.
#pragma once

#include <optional>

#include "client/nn/parameter.h"

namespace remora::nn::init {

void constant(Parameter parameter, double value);
void zeros(Parameter parameter);
void ones(Parameter parameter);
/// Ones on the diagonal of a rank-2 parameter.
void eye(Parameter parameter);
void uniform(Parameter parameter, double low = 0.0, double high = 1.0);
void normal(Parameter parameter, double mean = 0.0, double deviation = 1.0);
/// Normal, but only what lies in [low, high].
void trunc_normal(Parameter parameter, double mean = 0.0, double deviation = 1.0, double low = -2.0,
                  double high = 2.0);

/// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
/// 2010. Rank 2 or more: [out, in, ...].
void xavier_uniform(Parameter parameter, double gain = 1.0);
void xavier_normal(Parameter parameter, double gain = 1.0);

enum class Fan : uint8_t { kIn, kOut };
enum class Nonlinearity : uint8_t { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
/// How much a nonlinearity shrinks what passes it; `slope` is leaky_relu's.
double gain_of(Nonlinearity nonlinearity, std::optional<double> slope = std::nullopt);

struct KaimingOptions {
  double slope = 0.0;  // of leaky_relu
  Fan fan = Fan::kIn;
  Nonlinearity nonlinearity = Nonlinearity::kLeakyRelu;
};
/// He et al., "Delving deep into rectifiers", 2015. Rank 2 or more: [out, in, ...].
void kaiming_uniform(Parameter parameter, const KaimingOptions& options = {});
void kaiming_normal(Parameter parameter, const KaimingOptions& options = {});

/// Rows (or columns, where there are more rows than columns) that are orthogonal and of length
/// `gain`; axes after the first count as one. The polar factor of normal draws, which is
/// distributed as Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2014, ask;
/// found by iteration on the device, to about 1e-6.
void orthogonal(Parameter parameter, double gain = 1.0);

}  // namespace remora::nn::init
