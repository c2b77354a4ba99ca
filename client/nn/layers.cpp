#include "client/nn/layers.h"

#include <cmath>

#include "client/apply.h"
#include "client/nn/layer_parts.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

double bound_for(int64_t inputs) {
  return inputs > 0 ? 1.0 / std::sqrt(static_cast<double>(inputs)) : 0.0;
}

Tensor tensor_or_none(const std::optional<Parameter>& parameter) {
  return parameter ? parameter->tensor() : Tensor();
}

void check_sizes(std::string_view layer, const Dims& sizes) {
  for (const int64_t size : sizes) {
    if (size < 1) refuse(layer, str_cat("a size is ", size, "; it must be at least 1"));
  }
}

void check_sizes(std::string_view layer, std::initializer_list<int64_t> sizes) {
  check_sizes(layer, Dims(sizes));
}

void check_probability(std::string_view layer, double p) {
  if (!(p >= 0.0 && p <= 1.0)) refuse(layer, str_cat("p is ", p, "; it must lie in [0, 1]"));
}

Linear::Linear(int64_t in, int64_t out, bool bias)
    : weight_(add_parameter("weight", uniform_parameter({out, in}, bound_for(in)))) {
  check_sizes("Linear", {in, out});
  if (bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_for(in)));
}

Tensor Linear::forward(const Tensor& x) const {
  return linear(x, weight_.tensor(), tensor_or_none(bias_));
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, bool bias)
    : weight_(add_parameter("weight", uniform_parameter({out, in1, in2}, bound_for(in1)))) {
  check_sizes("Bilinear", {in1, in2, out});
  if (bias) bias_ = add_parameter("bias", uniform_parameter({out}, bound_for(in1)));
}

Tensor Bilinear::operator()(const Tensor& x1, const Tensor& x2) const {
  return bilinear(x1, x2, weight_.tensor(), tensor_or_none(bias_));
}

namespace {

std::optional<int64_t> padding_row(std::optional<int64_t> index, int64_t count) {
  if (!index) return std::nullopt;
  check_sizes("Embedding", {count});
  return normalize_axis("Embedding: padding_index", *index, count);
}

/// Normal draws; the padding row is zero.
Parameter embedding_table(int64_t count, int64_t width, std::optional<int64_t> padding) {
  return Parameter({count, width}, [=](const Device& device) {
    const dispatch::CallScope scope("");
    const Tensor table = normal({count, width}, device, 0.0, 1.0, DType::kF32);
    return padding ? slice_assign(table, 0.0, 0, *padding, *padding + 1) : table;
  });
}

}  // namespace

Embedding::Embedding(int64_t count, int64_t width, std::optional<int64_t> padding_index)
    : padding_index_(padding_row(padding_index, count)),
      weight_(add_parameter("weight", embedding_table(count, width, padding_index_))) {
  check_sizes("Embedding", {count, width});
}

Tensor Embedding::forward(const Tensor& index) const {
  const dispatch::CallScope scope;
  const Tensor rows = embedding(weight_.tensor(), index);
  if (!padding_index_ || !rows.requires_grad()) return rows;
  // The row's own elements, untracked: they take part and receive nothing.
  const Tensor padding = unsqueeze(equal(index, *padding_index_), -1);
  return where(padding, rows.detach(), rows);
}

Tensor Flatten::forward(const Tensor& x) const { return flatten(x, start_, end_); }

Tensor Unflatten::forward(const Tensor& x) const { return unflatten(x, axis_, sizes_); }

Dropout::Dropout(double p) : p_(p) { check_probability("Dropout", p); }

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, p_, training()); }

Dropout1d::Dropout1d(double p) : p_(p) { check_probability("Dropout1d", p); }
Dropout2d::Dropout2d(double p) : p_(p) { check_probability("Dropout2d", p); }
Dropout3d::Dropout3d(double p) : p_(p) { check_probability("Dropout3d", p); }
AlphaDropout::AlphaDropout(double p) : p_(p) { check_probability("AlphaDropout", p); }
FeatureAlphaDropout::FeatureAlphaDropout(double p) : p_(p) {
  check_probability("FeatureAlphaDropout", p);
}

Tensor Dropout1d::forward(const Tensor& x) const { return dropout1d(x, p_, training()); }
Tensor Dropout2d::forward(const Tensor& x) const { return dropout2d(x, p_, training()); }
Tensor Dropout3d::forward(const Tensor& x) const { return dropout3d(x, p_, training()); }
Tensor AlphaDropout::forward(const Tensor& x) const { return alpha_dropout(x, p_, training()); }
Tensor FeatureAlphaDropout::forward(const Tensor& x) const {
  return feature_alpha_dropout(x, p_, training());
}

Tensor PixelShuffle::forward(const Tensor& x) const { return pixel_shuffle(x, factor_); }

Tensor PixelUnshuffle::forward(const Tensor& x) const { return pixel_unshuffle(x, factor_); }

}  // namespace remora::nn
