// Attention and its gradients from their definitions: one query and head at a time.
#include <cmath>
#include <limits>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::AttentionAttrs;

/// Query, key, value and mask from `first` on, and where their elements are.
struct Operands {
  const Array &q, &k, &v;
  const Array* mask;
  AttentionAttrs attrs;
  int64_t heads, group, queries, keys, width, value_width;

  Operands(const Arrays& inputs, size_t first, const dispatch::Attrs& all_attrs)
      : q(inputs[first]),
        k(inputs[first + 1]),
        v(inputs[first + 2]),
        mask(inputs.size() > first + 3 ? &inputs[first + 3] : nullptr),
        attrs(std::get<AttentionAttrs>(all_attrs)),
        heads(q.spec.shape[1]),
        group(k.spec.shape[1] == 0 ? 1 : heads / k.spec.shape[1]),
        queries(q.spec.shape[2]),
        keys(k.spec.shape[2]),
        width(q.spec.shape[3]),
        value_width(v.spec.shape[3]) {}

  size_t q_at(int64_t n, int64_t h, int64_t i, int64_t e) const {
    return static_cast<size_t>(offset_of(q.spec.shape, {n, h, i, e}));
  }
  size_t k_at(int64_t n, int64_t h, int64_t j, int64_t e) const {
    return static_cast<size_t>(offset_of(k.spec.shape, {n, h / group, j, e}));
  }
  size_t v_at(int64_t n, int64_t h, int64_t j, int64_t e) const {
    return static_cast<size_t>(offset_of(v.spec.shape, {n, h / group, j, e}));
  }

  double score(int64_t n, int64_t h, int64_t i, int64_t j) const {
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (attrs.causal && j > i) return kHidden;
    double sum = 0;
    for (int64_t e = 0; e < width; ++e)
      sum += q.reals[q_at(n, h, i, e)] * k.reals[k_at(n, h, j, e)];
    sum *= attrs.scale.as_double();
    if (mask == nullptr) return sum;
    const Shape& shape = mask->spec.shape;
    Dims index = {n, h, i, j};
    for (size_t axis = 0; axis < 4; ++axis) {
      if (shape[static_cast<int64_t>(axis)] == 1) index[axis] = 0;
    }
    const auto at = static_cast<size_t>(offset_of(shape, index));
    if (mask->is_real()) return sum + mask->reals[at];
    return mask->integers[at] != 0 ? sum : kHidden;
  }

  template <typename Visit>
  void for_each_query(Visit visit) const {
    for (int64_t n = 0; n < q.spec.shape[0]; ++n) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t i = 0; i < queries; ++i) visit(n, h, i);
      }
    }
  }
};

DType sums_dtype(DType dtype) { return is_half(dtype) ? DType::kF32 : dtype; }

Arrays attention(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Operands x(inputs, 0, attrs);
  Shape shape = x.q.spec.shape;
  Array sums({sums_dtype(x.q.spec.dtype), {shape[0], shape[1], shape[2]}});
  shape[3] = x.value_width;
  Array out({x.q.spec.dtype, shape});
  x.for_each_query([&](int64_t n, int64_t h, int64_t i) {
    double total = 0;
    for (int64_t j = 0; j < x.keys; ++j) total += std::exp(x.score(n, h, i, j));
    sums.reals[static_cast<size_t>(offset_of(sums.spec.shape, {n, h, i}))] =
        total == 0 ? std::numeric_limits<double>::infinity() : std::log(total);
    for (int64_t e = 0; e < x.value_width && total != 0; ++e) {
      double sum = 0;
      for (int64_t j = 0; j < x.keys; ++j) {
        sum += std::exp(x.score(n, h, i, j)) * x.v.reals[x.v_at(n, h, j, e)];
      }
      out.reals[static_cast<size_t>(offset_of(shape, {n, h, i, e}))] = sum / total;
    }
  });
  return {out, sums};
}

Arrays attention_grad(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Operands x(inputs, 3, attrs);
  const Array &g = inputs[0], &delta = inputs[1], &logsumexp = inputs[2];
  Array q_grad(x.q.spec), k_grad(x.k.spec), v_grad(x.v.spec);
  x.for_each_query([&](int64_t n, int64_t h, int64_t i) {
    const auto row = static_cast<size_t>(offset_of(logsumexp.spec.shape, {n, h, i}));
    for (int64_t j = 0; j < x.keys; ++j) {
      const double weight = std::exp(x.score(n, h, i, j) - logsumexp.reals[row]);
      double weight_grad = 0;
      for (int64_t e = 0; e < x.value_width; ++e) {
        const double cotangent =
            g.reals[static_cast<size_t>(offset_of(g.spec.shape, {n, h, i, e}))];
        weight_grad += cotangent * x.v.reals[x.v_at(n, h, j, e)];
        v_grad.reals[x.v_at(n, h, j, e)] += weight * cotangent;
      }
      const double score_grad =
          weight * (weight_grad - delta.reals[row]) * x.attrs.scale.as_double();
      for (int64_t e = 0; e < x.width; ++e) {
        q_grad.reals[x.q_at(n, h, i, e)] += score_grad * x.k.reals[x.k_at(n, h, j, e)];
        k_grad.reals[x.k_at(n, h, j, e)] += score_grad * x.q.reals[x.q_at(n, h, i, e)];
      }
    }
  });
  return {q_grad, k_grad, v_grad};
}

}  // namespace

void add_attention(Table& table) {
  table["attention"] = attention;
  table["attention_grad"] = attention_grad;
}

}  // namespace remora::reference
