// What layers are made with: their sizes checked, their optional parameters as tensors.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "client/nn/parameter.h"

namespace remora::nn {

/// 1 / sqrt(inputs), the bound of a weight's first values; 0 without inputs.
double bound_for(int64_t inputs);
/// The parameter's tensor, or an undefined one.
Tensor tensor_or_none(const std::optional<Parameter>& parameter);
/// INVALID_ARGUMENT naming the layer unless every size is at least 1.
void check_sizes(std::string_view layer, std::initializer_list<int64_t> sizes);
void check_sizes(std::string_view layer, const Dims& sizes);
/// INVALID_ARGUMENT unless 0 <= p <= 1.
void check_probability(std::string_view layer, double p);

}  // namespace remora::nn
