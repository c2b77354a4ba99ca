// Gradient rules against finite differences, once and twice.
#include <algorithm>
#include <functional>
#include <random>

#include "client/autodiff/balanced.h"
#include "tests/client/device.h"

namespace remora {
namespace {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

struct GradientCase {
  std::string name;
  std::vector<Shape> inputs;
  Function function;
  double low = 0.3;  // of the inputs' elements
  double high = 1.3;
};

void PrintTo(const GradientCase& test, std::ostream* out) { *out << test.name; }

/// Inputs whose elements are all distinct and evenly spaced, so that no tie or kink lies within a
/// step; the same in every run.
std::vector<std::vector<float>> make_inputs(const GradientCase& test, unsigned seed) {
  int64_t count = 0;
  for (const Shape& shape : test.inputs) count += shape.numel();
  std::vector<double> elements;
  for (int64_t i = 0; i < count; ++i) {
    const double position = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    elements.push_back(test.low + (test.high - test.low) * position);
  }
  std::mt19937 random(seed);
  std::shuffle(elements.begin(), elements.end(), random);
  std::vector<std::vector<float>> inputs;
  auto next = elements.begin();
  for (const Shape& shape : test.inputs) {
    inputs.emplace_back(next, next + shape.numel());
    next += shape.numel();
  }
  return inputs;
}

std::vector<Tensor> leaves(const GradientCase& test,
                           const std::vector<std::vector<float>>& values) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < values.size(); ++i) result.push_back(leaf(values[i], test.inputs[i]));
  return result;
}

/// A fixed weighting makes one number of the result, so that no gradient cancels by symmetry.
Tensor weighted_sum(const Tensor& result) {
  const Tensor weights = cos(arange(0, result.numel(), 1, test_device()).astype(DType::kF32) * 0.7);
  return sum(reshape(result, {result.numel()}) * weights);
}

double value_of(const GradientCase& test, const std::vector<std::vector<float>>& values,
                const std::function<Tensor(const std::vector<Tensor>&)>& scalar) {
  return scalar(leaves(test, values)).item<double>();
}

/// Compares analytic gradients of `scalar` with central differences.
void check(const GradientCase& test,
           const std::function<Tensor(const std::vector<Tensor>&)>& scalar, float step,
           double tolerance) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::vector<std::vector<float>> values = make_inputs(test, kSeed);
  const std::vector<Tensor> inputs = leaves(test, values);
  const std::vector<Tensor> gradients = autodiff::grad(scalar(inputs), inputs);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<float> analytic = gradients[i].to_vector<float>();
    for (size_t k = 0; k < values[i].size(); ++k) {
      const float original = values[i][k];
      values[i][k] = original + step;
      const double above = value_of(test, values, scalar);
      values[i][k] = original - step;
      const double below = value_of(test, values, scalar);
      values[i][k] = original;
      const double width =
          static_cast<double>(original + step) - static_cast<double>(original - step);
      const double numeric = (above - below) / width;
      ASSERT_NEAR(analytic[k], numeric, tolerance * (1.0 + std::fabs(numeric)))
          << "input " << i << ", element " << k;
    }
  }
}

class Gradients : public testing::TestWithParam<GradientCase> {};
class SecondOrderGradients : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradients, equal_finite_differences) {
  const auto scalar = [&](const std::vector<Tensor>& x) {
    return weighted_sum(GetParam().function(x));
  };
  check(GetParam(), scalar, 1e-2F, 1e-2);
}

TEST_P(SecondOrderGradients, equal_finite_differences) {
  // The function differentiated here is a weighting of the first gradients.
  const auto scalar = [&](const std::vector<Tensor>& x) {
    const auto first =
        autodiff::grad(weighted_sum(GetParam().function(x)), x, Tensor(), {.create_graph = true});
    Tensor total = weighted_sum(first[0] * first[0]);
    for (size_t i = 1; i < first.size(); ++i) total = total + weighted_sum(first[i] * first[i]);
    // Tracked even where the first gradients are constant.
    for (const Tensor& input : x) total = total + 0.1 * sum(input);
    return total;
  };
  check(GetParam(), scalar, 1e-2F, 3e-2);
}

/// The gradients of `scalar` by leaves that are made under `device`'s context.
std::vector<std::vector<float>> gradients_on(
    const GradientCase& test, const Device& device,
    const std::function<Tensor(const std::vector<Tensor>&)>& scalar) {
  const std::vector<std::vector<float>> values = make_inputs(test, 7);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(from_data(values[i], test.inputs[i], device).require_grad());
  }
  std::vector<std::vector<float>> gradients;
  for (const Tensor& gradient : autodiff::grad(scalar(inputs), inputs)) {
    gradients.push_back(gradient.to_vector<float>());
  }
  return gradients;
}

/// Bit for bit, where everything that can be is recomputed.
void check_checkpointing(const GradientCase& test,
                         const std::function<Tensor(const std::vector<Tensor>&)>& scalar) {
  const autodiff::CheckpointCostsScope scope(autodiff::CheckpointCostsScope::nothing_kept());
  EXPECT_EQ(gradients_on(test, tracked_device().gradient_checkpointing(), scalar),
            gradients_on(test, tracked_device(), scalar));
}

TEST_P(Gradients, checkpointing_equals_plain) {
  check_checkpointing(GetParam(), [&](const std::vector<Tensor>& x) {
    return weighted_sum(GetParam().function(x));
  });
}

TEST_P(SecondOrderGradients, checkpointing_equals_plain) {
  check_checkpointing(GetParam(), [&](const std::vector<Tensor>& x) {
    const auto first =
        autodiff::grad(weighted_sum(GetParam().function(x)), x, Tensor(), {.create_graph = true});
    Tensor total = 0.1 * sum(x[0]);
    for (const Tensor& gradient : first) total = total + weighted_sum(gradient * gradient);
    return total;
  });
}

const Tensor& at(const std::vector<Tensor>& x, size_t i) { return x[i]; }

#define UNARY_CASE(name)                                                            \
  GradientCase {                                                                    \
#name, {{2, 3 } }, [](const std::vector <Tensor>& x) { return name(at(x, 0)); } \
  }
#define BINARY_CASE(name, a, b)                                                            \
  GradientCase {                                                                           \
#name, {a, b }, [](const std::vector <Tensor>& x) { return name(at(x, 0), at(x, 1)); } \
  }

std::vector<GradientCase> smooth_cases() {
  const Shape row{3}, matrix{2, 3}, column{2, 1};
  using X = const std::vector<Tensor>&;
  std::vector<GradientCase> cases = {
      UNARY_CASE(neg),
      UNARY_CASE(square),
      UNARY_CASE(sqrt),
      UNARY_CASE(rsqrt),
      UNARY_CASE(exp),
      UNARY_CASE(log),
      UNARY_CASE(sin),
      UNARY_CASE(cos),
      UNARY_CASE(tanh),
      UNARY_CASE(sigmoid),
      UNARY_CASE(erf),
      UNARY_CASE(reciprocal),
      UNARY_CASE(log1p),
      UNARY_CASE(expm1),
      UNARY_CASE(abs),
      UNARY_CASE(sinh),
      UNARY_CASE(cosh),
      UNARY_CASE(asinh),
      UNARY_CASE(tan),
      UNARY_CASE(relu),
      BINARY_CASE(add, matrix, row),
      BINARY_CASE(sub, column, row),
      BINARY_CASE(mul, matrix, column),
      BINARY_CASE(div, row, matrix),
      BINARY_CASE(pow, matrix, row),
      BINARY_CASE(maximum, matrix, matrix),
      BINARY_CASE(minimum, matrix, row),
      BINARY_CASE(hypot, matrix, matrix),
      BINARY_CASE(logaddexp, matrix, row),
  };
  const std::vector<GradientCase> more = {
      {"where", {matrix, row}, [](X x) { return where(x[0] > x[1], x[0] * x[1], square(x[1])); }},
      {"sum",
       {{2, 3, 2}},
       [](X x) {
         return square(sum(x[0], {0, 2}));
       }},
      {"mean", {matrix}, [](X x) { return square(mean(x[0], 1, true)); }},
      {"amax", {matrix}, [](X x) { return square(amax(x[0], 1)); }},
      {"amin", {matrix}, [](X x) { return square(amin(x[0], 0)); }},
      {"max_with_indices", {matrix}, [](X x) { return square(max(x[0], 1).first); }},
      {"var", {matrix}, [](X x) { return var(x[0], 1); }},
      {"prod", {matrix}, [](X x) { return prod(x[0], 1); }},
      {"cumsum", {matrix}, [](X x) { return square(cumsum(x[0], 1)); }},
      {"cumprod", {matrix}, [](X x) { return cumprod(x[0], 1); }},
      {"logsumexp", {matrix}, [](X x) { return logsumexp(x[0], 1); }},
      {"vector_norm", {matrix}, [](X x) { return vector_norm(x[0], 2.0, 1); }},
      {"norm_3", {matrix}, [](X x) { return vector_norm(x[0], 3.0, 1); }},
      {"reshape",
       {matrix},
       [](X x) {
         return square(reshape(x[0], {3, 2}));
       }},
      {"permute",
       {{2, 3, 2}},
       [](X x) {
         return square(permute(x[0], {2, 0, 1}));
       }},
      {"broadcast_to",
       {row},
       [](X x) {
         return square(broadcast_to(x[0], {2, 3}));
       }},
      {"slice", {{5}}, [](X x) { return square(x[0].slice(0, 4, 0, -2)); }},
      {"slice_assign",
       {{5}, {2}},
       [](X x) { return square(slice_assign(x[0], x[1], 0, 1, 5, 2)); }},
      {"concat",
       {matrix, {1, 3}},
       [](X x) {
         return square(concat({x[0], x[1], x[0]}, 0));
       }},
      {"pad",
       {matrix},
       [](X x) {
         return square(pad(x[0], {1, 2, 0, 1}, 0.5));
       }},
      {"gather",
       {{3, 2}},
       [](X x) {
         return square(gather(x[0], 0, integers({2, 0, 1, 2}, {2, 2})));
       }},
      {"scatter_add",
       {{3, 2}, {2, 2}},
       [](X x) {
         return square(scatter_add(x[0], 0, integers({2, 0, 2, 1}, {2, 2}), x[1]));
       }},
      {"index_select",
       {{3, 2}},
       [](X x) {
         return square(index_select(x[0], 0, integers({2, 2, 0}, {3})));
       }},
      {"matmul", {matrix, {3, 2}}, [](X x) { return matmul(x[0], x[1]); }},
      {"matmul_batched", {{2, 2, 3}, {3, 2}}, [](X x) { return matmul(x[0], x[1]); }},
      {"matmul_broadcast", {{2, 1, 2, 3}, {2, 3, 1}}, [](X x) { return matmul(x[0], x[1]); }},
      {"conv2d",
       {{1, 2, 4, 3}, {2, 2, 2, 2}, {2}},
       [](X x) {
         return conv2d(x[0], x[1], x[2], {.stride = {2, 1}, .padding = 1});
       }},
      {"conv2d_groups",
       {{1, 2, 3, 3}, {2, 1, 2, 2}},
       [](X x) {
         return conv2d(x[0], x[1], Tensor(), {.dilation = {1, 2}, .groups = 2});
       }},
      {"conv_transpose2d",
       {{1, 2, 2, 2}, {2, 1, 2, 2}},
       [](X x) { return conv_transpose2d(x[0], x[1], Tensor(), {.stride = 2}); }},
      {"max_pool2d", {{1, 2, 4, 4}}, [](X x) { return square(max_pool2d(x[0], 2)); }},
      {"avg_pool2d",
       {{1, 1, 4, 4}},
       [](X x) { return square(avg_pool2d(x[0], 2, {.padding = 1, .count_include_pad = false})); }},
      {"softmax", {matrix}, [](X x) { return softmax(x[0], 1); }},
      {"log_softmax", {matrix}, [](X x) { return log_softmax(x[0], 0); }},
      {"gelu", {matrix}, [](X x) { return gelu(x[0]); }},
      {"gelu_tanh", {matrix}, [](X x) { return gelu(x[0], GeluForm::kTanh); }},
      {"silu", {matrix}, [](X x) { return silu(x[0]); }},
      {"softplus", {matrix}, [](X x) { return softplus(x[0]); }},
      {"elu", {matrix}, [](X x) { return elu(x[0] - 2.0); }},
      {"layer_norm", {matrix, row, row}, [](X x) { return layer_norm(x[0], {3}, x[1], x[2]); }},
      {"cross_entropy",
       {matrix},
       [](X x) {
         return cross_entropy(x[0], integers({2, 0}, {2}), {.label_smoothing = 0.1});
       }},
      {"bce_with_logits",
       {row, row},
       [](X x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"bce",
       {row},
       [](X x) {
         return binary_cross_entropy(x[0] * 0.5, floats({0.0F, 1.0F, 0.5F}, {3}));
       }},
      {"huber",
       {row},
       [](X x) {
         return huber_loss(x[0], floats({0, 0, 0}, {3}), Reduction::kSum, 0.9);
       }},
      {"attention",
       {{2, 3, 2}, {2, 4, 2}, {2, 4, 3}},
       [](X x) {
         return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .scale = 1.5});
       }},
      {"attention_masked",
       {{3, 2}, {2, 2}, {2, 2}, {3, 2}},
       [](X x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3]}); }},
      {"rotary_embedding",
       {{2, 4}},
       [](X x) {
         return square(
             rotary_embedding(x[0], floats({0.5F, 0.8F}, {2}), floats({0.3F, 0.2F}, {2})));
       }},
      {"fft", {{3, 2}}, [](X x) { return square(fft(x[0])); }},
      {"irfft", {{3, 2}}, [](X x) { return square(irfft(rfft(irfft(x[0], 5)), 4)); }},
      {"fold", {{1, 4, 4}}, [](X x) { return square(fold(x[0], 3, 2)); }},
      {"instance_norm", {{1, 2, 3}, {2}, {2}}, [](X x) { return instance_norm(x[0], x[1], x[2]); }},
      {"embedding",
       {{3, 2}},
       [](X x) {
         return square(embedding(x[0], integers({1, 1, 2}, {3})));
       }},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

/// A well-conditioned matrix with separated eigenvalues.
Tensor regular(const Tensor& x) {
  std::vector<float> diagonal;
  for (int64_t i = 0; i < x.size(-1); ++i) diagonal.push_back(2.0F * static_cast<float>(i) + 2.0F);
  return x + diag(floats(diagonal, {x.size(-1)}));
}

std::vector<GradientCase> special_cases() {
  const Shape row{3}, matrix{2, 3}, square_matrix{2, 2};
  using X = const std::vector<Tensor>&;
  return {
      {"asin", {row}, [](X x) { return asin(x[0] * 0.5); }},
      {"acos", {row}, [](X x) { return acos(x[0] * 0.5); }},
      UNARY_CASE(atan),
      {"acosh", {row}, [](X x) { return acosh(x[0] + 1.5); }},
      {"atanh", {row}, [](X x) { return atanh(x[0] * 0.5); }},
      UNARY_CASE(cbrt),
      UNARY_CASE(exp2),
      UNARY_CASE(log2),
      UNARY_CASE(log10),
      UNARY_CASE(erfc),
      {"erfinv", {row}, [](X x) { return erfinv(x[0] * 0.5); }},
      {"lgamma", {row}, [](X x) { return lgamma(x[0] + 1.0); }},
      {"digamma", {row}, [](X x) { return digamma(x[0] + 1.0); }},
      BINARY_CASE(atan2, matrix, row),
      BINARY_CASE(fmax, matrix, matrix),
      BINARY_CASE(xlogy, matrix, row),
      {"sort", {matrix}, [](X x) { return square(sort(x[0], 1, true).first); }},
      {"cummax", {matrix}, [](X x) { return square(cummax(x[0], 1).first); }},
      {"median", {matrix}, [](X x) { return square(median(x[0], 1).first); }},
      {"quantile", {matrix}, [](X x) { return square(quantile(x[0], 0.3, 1)); }},
      {"scatter",
       {{3, 2}, {3, 2}},
       [](X x) {
         return square(scatter(x[0], 0, integers({2, 0, 2, 1, 0, 1}, {3, 2}), x[1]));
       }},
      {"scatter_reduce_prod",
       {{3}, {3}},
       [](X x) {
         return scatter_reduce(x[0], 0, integers({2, 0, 2}, {3}), x[1], "prod");
       }},
      {"scatter_reduce_mean",
       {{3}, {3}},
       [](X x) {
         return square(scatter_reduce(x[0], 0, integers({2, 0, 2}, {3}), x[1], "mean", false));
       }},
      {"scatter_reduce_amax",
       {{3}, {3}},
       [](X x) {
         return square(scatter_reduce(x[0], 0, integers({2, 0, 2}, {3}), x[1], "amax"));
       }},
      {"index_put",
       {{3, 2}, {2}},
       [](X x) {
         return square(index_put(x[0], {integers({-1, 0}, {2})}, x[1]));
       }},
      {"cholesky", {square_matrix}, [](X x) { return cholesky(regular(x[0] + transpose(x[0]))); }},
      {"solve", {square_matrix, {2, 1}}, [](X x) { return solve(regular(x[0]), x[1]); }},
      {"solve_triangular",
       {square_matrix, {2, 1}},
       [](X x) { return solve_triangular(regular(x[0]), x[1], true); }},
      {"inv", {square_matrix}, [](X x) { return inv(regular(x[0])); }},
      {"det", {square_matrix}, [](X x) { return unsqueeze(det(regular(x[0])), 0); }},
      {"slogdet", {square_matrix}, [](X x) { return unsqueeze(slogdet(regular(x[0])).second, 0); }},
      {"lu", {square_matrix}, [](X x) { return std::get<2>(lu(regular(x[0]))); }},
      {"qr_tall", {{3, 2}}, [](X x) { return square(qr(x[0]).first); }},
      {"qr_wide", {matrix}, [](X x) { return square(qr(x[0]).second); }},
      {"eigh",
       {square_matrix},
       [](X x) {
         const auto [values, vectors] = eigh(regular(x[0] + transpose(x[0])));
         return concat({values, ravel(square(vectors))}, 0);
       }},
      {"svd",
       {matrix},
       [](X x) {
         const auto [u, s, vh] = svd(x[0] * floats({1, 0, 3, 0, 2, 0}, {2, 3}) + x[0], false);
         return concat({s, ravel(square(u)), ravel(square(vh))}, 0);
       }},
      {"pinv",
       {matrix},
       [](X x) {
         return pinv(x[0] * floats({1, 0, 3, 0, 2, 0}, {2, 3}) + x[0]);
       }},
      {"matrix_exp", {square_matrix}, [](X x) { return matrix_exp(x[0]); }},
      {"hfft", {{3, 2}}, [](X x) { return square(hfft(ihfft(hfft(x[0], 5)), 4)); }},
      {"lanczos3",
       {{1, 1, 3, 4}},
       [](X x) {
         InterpolateOptions options;
         options.mode = Interpolation::kLanczos3;
         options.size = Dims{4, 3};
         return square(interpolate(x[0], options));
       }},
      // Offsets between 0.3 and 0.8: no sample lies on an element.
      {"deform_conv2d",
       {{1, 2, 3, 3}, {1, 8, 2, 2}, {2, 1, 2, 2}, {1, 4, 2, 2}},
       [](X x) {
         const Tensor offset = x[1] * 0.5 + 0.15;
         return deform_conv2d(square(x[0]), offset, x[2], Tensor(), {.mask = x[3]});
       }},
      {"max_unpool2d",
       {{1, 1, 2, 2}},
       [](X x) {
         return square(max_unpool2d(x[0], integers({3, 4, 9, 15}, {1, 1, 2, 2}), {2}));
       }},
      {"conv3d",
       {{1, 1, 3, 2, 2}, {1, 1, 2, 2, 1}},
       [](X x) {
         return conv3d(x[0], x[1], Tensor(), {.stride = {2, 1, 1}, .padding = {1, 0, 0}});
       }},
      {"conv_transpose3d",
       {{1, 1, 2, 2, 1}, {1, 1, 2, 2, 1}},
       [](X x) {
         return conv_transpose3d(x[0], x[1], Tensor(), {.stride = {2, 1, 1}});
       }},
  };
}

std::string case_name(const testing::TestParamInfo<GradientCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(all, Gradients, testing::ValuesIn(smooth_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(all, SecondOrderGradients, testing::ValuesIn(smooth_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(special, Gradients, testing::ValuesIn(special_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(special, SecondOrderGradients, testing::ValuesIn(special_cases()),
                         case_name);

}  // namespace
}  // namespace remora
