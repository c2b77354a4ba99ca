#include "client/cli/bench_families.h"

#include "client/autodiff/autodiff.h"
#include "client/ops.h"
#include "client/ops_nn.h"
#include "dispatch/str_cat.h"

namespace remora::cli {
namespace {

constexpr int64_t kSmall = 1 << 10;
constexpr int64_t kLarge = 1 << 22;
constexpr int64_t kColumns = 256;

std::vector<Tensor> results_of(const Tensor& tensor) { return {tensor}; }
std::vector<Tensor> results_of(const std::vector<Tensor>& tensors) { return tensors; }

/// Families are made only if they are asked for: their operands take time and memory.
class Families {
 public:
  Families(const Device& device, std::string_view only) : device_(device), only_(only) {}

  /// `make` draws the operands and gives what is measured.
  template <typename Make>
  void add(const std::string& key, Make make) {
    if (!key.starts_with(only_)) return;
    auto run = make(device_);
    families_.push_back({key, [run] { return results_of(run()); }});
  }
  std::vector<Family> take() { return std::move(families_); }

 private:
  Device device_;
  std::string_view only_;
  std::vector<Family> families_;
};

/// Operations over `count` elements, as a vector or as rows of kColumns.
void add_vectors(Families& families, int64_t count, std::string_view size) {
  const auto unary = [&](std::string_view name, auto function) {
    families.add(str_cat(name, "_", size), [=](const Device& device) {
      const Tensor x = uniform({count}, device);
      return [=] { return function(x); };
    });
  };
  const auto binary = [&](std::string_view name, auto function) {
    families.add(str_cat(name, "_", size), [=](const Device& device) {
      const Tensor x = uniform({count}, device);
      const Tensor y = uniform({count}, device);
      return [=] { return function(x, y); };
    });
  };
  const auto rows = [&](std::string_view name, auto function) {
    families.add(str_cat(name, "_", size), [=](const Device& device) {
      const Tensor x = uniform({count / kColumns, kColumns}, device);
      return [=] { return function(x); };
    });
  };
  const auto typed = [&](std::string_view name, DType dtype, auto function) {
    families.add(str_cat(name, "_", size), [=](const Device& device) {
      const Tensor x = astype(uniform({count}, device) * 100.0, dtype);
      return [=] { return function(x); };
    });
  };
  binary("add", [](const Tensor& x, const Tensor& y) { return x + y; });
  binary("div", [](const Tensor& x, const Tensor& y) { return x / y; });
  binary("pow", [](const Tensor& x, const Tensor& y) { return pow(x, y); });
  binary("maximum", [](const Tensor& x, const Tensor& y) { return maximum(x, y); });
  binary("less", [](const Tensor& x, const Tensor& y) { return x < y; });
  binary("less_where", [](const Tensor& x, const Tensor& y) { return where(x < y, x, y); });
  binary("atan2", [](const Tensor& x, const Tensor& y) { return atan2(x, y); });
  unary("sqrt", [](const Tensor& x) { return sqrt(x); });
  unary("exp", [](const Tensor& x) { return exp(x); });
  unary("log", [](const Tensor& x) { return log(x); });
  unary("sin", [](const Tensor& x) { return sin(x); });
  unary("tanh", [](const Tensor& x) { return tanh(x); });
  unary("expm1", [](const Tensor& x) { return expm1(x); });
  unary("log1p", [](const Tensor& x) { return log1p(x); });
  unary("asin", [](const Tensor& x) { return asin(x); });
  unary("atan", [](const Tensor& x) { return atan(x); });
  unary("erf", [](const Tensor& x) { return erf(x); });
  unary("sigmoid", [](const Tensor& x) { return sigmoid(x); });
  unary("relu", [](const Tensor& x) { return relu(x); });
  unary("gelu", [](const Tensor& x) { return gelu(x); });
  unary("lgamma", [](const Tensor& x) { return lgamma(x); });
  unary("round", [](const Tensor& x) { return round(x); });
  unary("astype_i64", [](const Tensor& x) { return astype(x, DType::kI64); });
  unary("sum_all", [](const Tensor& x) { return sum(x); });
  typed("exp_f64", DType::kF64, [](const Tensor& x) { return exp(x); });
  typed("sin_f64", DType::kF64, [](const Tensor& x) { return sin(x); });
  typed("log_f64", DType::kF64, [](const Tensor& x) { return log(x); });
  typed("tanh_f64", DType::kF64, [](const Tensor& x) { return tanh(x); });
  typed("add_i64", DType::kI64, [](const Tensor& x) { return x + x; });
  typed("mul_i32", DType::kI32, [](const Tensor& x) { return x * x; });
  typed("add_bf16", DType::kBF16, [](const Tensor& x) { return x + x; });
  typed("sum_i64", DType::kI64, [](const Tensor& x) { return sum(x); });
  rows("transpose", [](const Tensor& x) { return transpose(x) + 0.0; });
  rows("sum_last", [](const Tensor& x) { return sum(x, {1}); });
  rows("sum_first", [](const Tensor& x) { return sum(x, {0}); });
  rows("var_last", [](const Tensor& x) { return var(x, {1}); });
  rows("amax_last", [](const Tensor& x) { return amax(x, {1}); });
  rows("argmax_last", [](const Tensor& x) { return argmax(x, 1); });
  rows("softmax_last", [](const Tensor& x) { return softmax(x, 1); });
  rows("layer_norm_last", [](const Tensor& x) { return layer_norm(x, {kColumns}); });
  rows("cumsum_last", [](const Tensor& x) { return cumsum(x, 1); });
  rows("sort_last", [](const Tensor& x) { return sort(x, 1).first; });
  rows("topk4_last", [](const Tensor& x) { return topk(x, 4, 1).first; });
  rows("concat_last", [](const Tensor& x) { return concat({x, x}, 1); });
  rows("flip_last", [](const Tensor& x) { return flip(x, Dims{1}); });
  families.add(str_cat("gather_", size), [=](const Device& device) {
    const Tensor x = uniform({count}, device);
    const Tensor index =
        astype(uniform({count}, device) * static_cast<double>(count - 1), DType::kI64);
    return [=] { return gather(x, 0, index); };
  });
  families.add(str_cat("index_select_rows_", size), [=](const Device& device) {
    const Tensor x = uniform({count / kColumns, kColumns}, device);
    const Tensor index = randint(0, count / kColumns, {count / kColumns}, device);
    return [=] { return index_select(x, 0, index); };
  });
  families.add(str_cat("index_add_rows_", size), [=](const Device& device) {
    const Tensor x = uniform({count / kColumns, kColumns}, device);
    const Tensor index = randint(0, count / kColumns, {count / kColumns}, device);
    return [=] { return index_add(x, 0, index, x); };
  });
  families.add(str_cat("masked_select_", size), [=](const Device& device) {
    const Tensor x = uniform({count}, device);
    const Tensor mask = x > 0.5;
    return [=] { return masked_select(x, mask); };
  });
  families.add(str_cat("uniform_", size),
               [=](const Device& device) { return [=] { return uniform({count}, device); }; });
  families.add(str_cat("normal_", size),
               [=](const Device& device) { return [=] { return normal({count}, device); }; });
  families.add(str_cat("rfft_rows_", size), [=](const Device& device) {
    const Tensor x = uniform({count / kColumns, kColumns}, device);
    return [=] { return rfft(x); };
  });
}

void add_products(Families& families) {
  for (const int64_t size : {64, 1024}) {
    families.add(str_cat("matmul_", size), [=](const Device& device) {
      const Tensor a = uniform({size, size}, device);
      const Tensor b = uniform({size, size}, device);
      return [=] { return matmul(a, b); };
    });
  }
  families.add("bmm_32x128", [](const Device& device) {
    const Tensor a = uniform({32, 128, 128}, device);
    return [=] { return matmul(a, a); };
  });
  families.add("matvec_2048", [](const Device& device) {
    const Tensor a = uniform({2048, 2048}, device);
    const Tensor b = uniform({2048}, device);
    return [=] { return matmul(a, b); };
  });
  for (const int64_t length : {128, 1024}) {
    families.add(str_cat("attention_", length), [=](const Device& device) {
      const Tensor x = normal({1, 8, length, 64}, device);
      return [=] { return scaled_dot_product_attention(x, x, x, {.causal = true}); };
    });
    families.add(str_cat("attention_grad_", length), [=](const Device& device) {
      const Tensor x = normal({1, 8, length, 64}, device.autodiff()).require_grad();
      const std::vector<Tensor> inputs = {x};
      return [=] {
        return autodiff::grad(sum(scaled_dot_product_attention(x, x, x, {.causal = true})), inputs);
      };
    });
  }
}

void add_convolutions(Families& families) {
  for (const int64_t batch : {1, 32}) {
    const auto convolve = [&](std::string_view name, const Shape& weight_shape,
                              const Conv2dOptions& options) {
      families.add(str_cat(name, "_b", batch), [=](const Device& device) {
        const Tensor x = uniform({batch, 32, 28, 28}, device);
        const Tensor weight = uniform(weight_shape, device);
        return [=] { return conv2d(x, weight, Tensor(), options); };
      });
    };
    convolve("conv2d_3x3", {64, 32, 3, 3}, {});
    convolve("conv2d_1x1", {64, 32, 1, 1}, {});
    convolve("conv2d_depthwise", {32, 1, 3, 3}, {.padding = 1, .groups = 32});
    families.add(str_cat("conv2d_3x3_grad_b", batch), [=](const Device& device) {
      const Tensor x = uniform({batch, 32, 28, 28}, device.autodiff()).require_grad();
      const Tensor weight = uniform({64, 32, 3, 3}, device.autodiff()).require_grad();
      const std::vector<Tensor> inputs = {x, weight};
      return [=] { return autodiff::grad(sum(conv2d(x, weight)), inputs); };
    });
    families.add(str_cat("max_pool2d_2x2_b", batch), [=](const Device& device) {
      const Tensor x = uniform({batch, 32, 28, 28}, device);
      return [=] { return max_pool2d(x, {2, 2}); };
    });
    families.add(str_cat("avg_pool2d_2x2_b", batch), [=](const Device& device) {
      const Tensor x = uniform({batch, 32, 28, 28}, device);
      return [=] { return avg_pool2d(x, {2, 2}); };
    });
    families.add(str_cat("batch_norm_b", batch), [=](const Device& device) {
      const Tensor x = uniform({batch, 32, 28, 28}, device);
      return [=] { return batch_norm(x, Tensor(), Tensor()); };
    });
    families.add(str_cat("interpolate_bilinear_b", batch), [=](const Device& device) {
      const Tensor x = uniform({batch, 32, 28, 28}, device);
      return [=] {
        return interpolate(x, {.size = Dims{56, 56}, .scale = {}, .mode = Interpolation::kLinear});
      };
    });
  }
}

void add_linear_algebra(Families& families) {
  const auto factor = [&](const std::string& key, int64_t size, auto function) {
    families.add(key, [=](const Device& device) {
      const Tensor x = uniform({size, size}, device);
      const Tensor positive = matmul(x, transpose(x)) + eye(size, std::nullopt, device);
      return [=] { return function(positive); };
    });
  };
  factor("cholesky_256", 256, [](const Tensor& x) { return cholesky(x); });
  factor("solve_256", 256, [](const Tensor& x) { return solve(x, x); });
  factor("inv_256", 256, [](const Tensor& x) { return inv(x); });
  factor("det_256", 256, [](const Tensor& x) { return det(x); });
  factor("qr_256", 256, [](const Tensor& x) { return qr(x).first; });
  factor("svdvals_128", 128, [](const Tensor& x) { return svdvals(x); });
  factor("eigvalsh_128", 128, [](const Tensor& x) { return eigvalsh(x); });
}

}  // namespace

std::vector<Family> families_of(const Device& device, std::string_view only) {
  Families families(device, only);
  add_vectors(families, kSmall, "1Ki");
  add_vectors(families, kLarge, "4Mi");
  add_products(families);
  add_convolutions(families);
  add_linear_algebra(families);
  return families.take();
}

}  // namespace remora::cli
