#include "client/nn/gradient_clipping.h"

#include <utility>

#include "client/apply.h"
#include "client/ops.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

namespace {

constexpr double kNormEps = 1e-6;

void check_limit(std::string_view function, std::string_view what, double limit) {
  if (!(limit >= 0.0)) refuse(function, str_cat(what, " is ", limit, "; it must not be negative"));
}

/// The parameters that have a gradient, with it.
std::vector<std::pair<Tensor, Tensor>> gradients_of(const std::vector<Parameter>& parameters) {
  std::vector<std::pair<Tensor, Tensor>> found;
  for (const Parameter& parameter : parameters) {
    const std::optional<Tensor> gradient = parameter.tensor().grad();
    if (gradient) found.emplace_back(parameter.tensor(), *gradient);
  }
  return found;
}

/// Replaces the gradients when all new ones are recorded, so that a throw leaves them as they were.
void replace(const std::vector<std::pair<Tensor, Tensor>>& found, const std::vector<Tensor>& made) {
  for (size_t i = 0; i < found.size(); ++i) found[i].first.set_grad(made[i]);
}

}  // namespace

Tensor clip_grad_norm(const std::vector<Parameter>& parameters, double max_norm, double order) {
  check_limit("clip_grad_norm", "max_norm", max_norm);
  const dispatch::CallScope scope;
  const NoGrad guard;
  const auto found = gradients_of(parameters);
  if (found.empty()) {
    if (parameters.empty()) refuse("clip_grad_norm", "there are no parameters");
    return new_zeros(parameters[0].tensor().inner(), {});
  }
  std::vector<Tensor> norms;
  norms.reserve(found.size());
  for (const auto& [leaf, gradient] : found) {
    norms.push_back(astype(vector_norm(gradient, order), found[0].second.dtype()));
  }
  const Tensor norm = vector_norm(stack(norms), order);
  const Tensor limit = constant(norm, max_norm, norm.dtype());
  const Tensor factor = minimum(limit / (norm + kNormEps), 1.0);
  std::vector<Tensor> clipped;
  clipped.reserve(found.size());
  for (const auto& [leaf, gradient] : found) {
    clipped.push_back(gradient * astype(factor, gradient.dtype()));
  }
  replace(found, clipped);
  return norm;
}

void clip_grad_value(const std::vector<Parameter>& parameters, double limit) {
  check_limit("clip_grad_value", "the limit", limit);
  const dispatch::CallScope scope;
  const NoGrad guard;
  const auto found = gradients_of(parameters);
  std::vector<Tensor> clipped;
  clipped.reserve(found.size());
  for (const auto& [leaf, gradient] : found) clipped.push_back(clip(gradient, -limit, limit));
  replace(found, clipped);
}

}  // namespace remora::nn
