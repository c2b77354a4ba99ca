#include <cmath>

#include "kernels/cpu/limits.h"
#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::ConvAttrs;
using dispatch::PermuteAttrs;

/// Largest difference from `exact`, relative to the sum of magnitudes behind each element.
double worst_error(const std::vector<float>& got, const std::vector<double>& exact,
                   const std::vector<double>& magnitude) {
  EXPECT_EQ(got.size(), exact.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::fabs(got[i] - exact[i]) / (magnitude[i] + 1e-30));
  }
  return worst;
}

struct Product {
  int64_t batch, m, n, k;
};

class MatmulShapes : public testing::TestWithParam<Product> {};

TEST_P(MatmulShapes, EqualsTheF64Sum) {
  const auto [batch, m, n, k] = GetParam();
  CpuDevice device;
  const Buffer a = device.random({batch, m, k}, 1);
  const Buffer b = device.random({batch, k, n}, 2);
  const auto x = device.read<float>(a);
  const auto y = device.read<float>(b);
  std::vector<double> exact(static_cast<size_t>(batch * m * n)), magnitude(exact.size());
  for (int64_t i = 0; i < batch * m; ++i) {
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < n; ++j) {
        const double term = double{x[static_cast<size_t>(i * k + l)]} *
                            y[static_cast<size_t>((i / m * k + l) * n + j)];
        exact[static_cast<size_t>(i * n + j)] += term;
        magnitude[static_cast<size_t>(i * n + j)] += std::fabs(term);
      }
    }
  }
  const auto got = device.read<float>(device.run(OpCode::matmul, {a, b})[0]);
  EXPECT_LT(worst_error(got, exact, magnitude), 1e-5);

  // A transposed operand is read in place and gives the same bits as its copy.
  const Buffer at = device.upload({batch, k, m}, [&] {
    return device.read<float>(device.run(OpCode::permute, {a}, PermuteAttrs{{0, 2, 1}})[0]);
  }());
  const Buffer bt = device.upload({batch, n, k}, [&] {
    return device.read<float>(device.run(OpCode::permute, {b}, PermuteAttrs{{0, 2, 1}})[0]);
  }());
  const Buffer a_view = device.run(OpCode::permute, {at}, PermuteAttrs{{0, 2, 1}})[0];
  const Buffer b_view = device.run(OpCode::permute, {bt}, PermuteAttrs{{0, 2, 1}})[0];
  EXPECT_EQ(device.read<float>(device.run(OpCode::matmul, {a_view, b})[0]), got);
  EXPECT_EQ(device.read<float>(device.run(OpCode::matmul, {a, b_view})[0]), got);
  EXPECT_EQ(device.read<float>(device.run(OpCode::matmul, {a_view, b_view})[0]), got);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatmulShapes,
                         testing::Values(Product{1, 1, 1, 1}, Product{1, 3, 4, 5},
                                         Product{7, 5, 1, 9}, Product{3, 1, 17, 8},
                                         Product{1, 64, 10, 1152}, Product{1, 257, 33, 70},
                                         Product{1, 300, 1100, 40}, Product{2, 129, 520, 65},
                                         Product{1, 1, 300, 700}, Product{2, 301, 1, 95},
                                         Product{1, 1, 1, 4000}, Product{1, 513, 513, 130}));

TEST(Matmul, WithoutInnerElementsGivesZeros) {
  CpuDevice device;
  const Buffer a = device.upload<float>({2, 0}, {});
  const Buffer b = device.upload<float>({0, 3}, {});
  EXPECT_EQ(device.read<float>(device.run(OpCode::matmul, {a, b})[0]), std::vector<float>(6, 0.0f));
  EXPECT_EQ(device.run(OpCode::matmul, {b, device.upload<float>({3, 4}, std::vector<float>(12))})[0]
                .spec.shape,
            (Shape{0, 4}));
}

TEST(Matmul, BroadcastOperandsMatchTheirCopies) {
  CpuDevice device;
  const Buffer row = device.random({1, 1, 6}, 3);
  const Buffer wide = device.run(OpCode::broadcast_to, {row}, dispatch::ShapeAttrs{{4, 5, 6}})[0];
  const Buffer copy = device.upload({4, 5, 6}, device.read<float>(wide));
  const Buffer b = device.random({4, 6, 7}, 4);
  EXPECT_EQ(device.read<float>(device.run(OpCode::matmul, {wide, b})[0]),
            device.read<float>(device.run(OpCode::matmul, {copy, b})[0]));
}

TEST(Matmul, IntegersAreExactAndWrap) {
  CpuDevice device;
  const int64_t big = int64_t{1} << 62;
  const Buffer a = device.upload<int64_t>({2, 2}, {1, 2, big, big});
  const Buffer b = device.upload<int64_t>({2, 2}, {3, -4, 5, 2});
  EXPECT_EQ(device.read<int64_t>(device.run(OpCode::matmul, {a, b})[0]),
            (std::vector<int64_t>{13, 0, 0, static_cast<int64_t>(uint64_t{1} << 63)}));
}

struct Convolution {
  Shape input, weight;
  ConvAttrs attrs;
};

/// The convolution and both gradients by their definition, in f64, with the sums of magnitudes.
struct ConvReference {
  std::vector<double> out, out_magnitude, input_grad, input_magnitude, weight_grad,
      weight_magnitude;

  ConvReference(const Convolution& c, const Shape& out_shape, const std::vector<float>& x,
                const std::vector<float>& w, const std::vector<float>& g)
      : out(g.size()),
        out_magnitude(g.size()),
        input_grad(x.size()),
        input_magnitude(x.size()),
        weight_grad(w.size()),
        weight_magnitude(w.size()) {
    const int64_t group_out = c.weight[0] / c.attrs.groups;
    for (int64_t i = 0; i < out_shape.numel() * c.weight[1] * c.weight[2] * c.weight[3]; ++i) {
      const int64_t kx = i % c.weight[3];
      const int64_t ky = i / c.weight[3] % c.weight[2];
      const int64_t cin = i / c.weight[3] / c.weight[2] % c.weight[1];
      const int64_t o = i / c.weight[3] / c.weight[2] / c.weight[1];
      const int64_t channel = o / out_shape[3] / out_shape[2] % out_shape[1];
      const int64_t image = o / out_shape[3] / out_shape[2] / out_shape[1];
      const int64_t y = o / out_shape[3] % out_shape[2] * c.attrs.stride[0] - c.attrs.padding[0] +
                        ky * c.attrs.dilation[0];
      const int64_t px =
          o % out_shape[3] * c.attrs.stride[1] - c.attrs.padding[1] + kx * c.attrs.dilation[1];
      if (y < 0 || y >= c.input[2] || px < 0 || px >= c.input[3]) continue;
      const auto at_x = static_cast<size_t>(
          ((image * c.input[1] + channel / group_out * c.weight[1] + cin) * c.input[2] + y) *
              c.input[3] +
          px);
      const auto at_w = static_cast<size_t>(
          ((channel * c.weight[1] + cin) * c.weight[2] + ky) * c.weight[3] + kx);
      const auto at_o = static_cast<size_t>(o);
      add(out, out_magnitude, at_o, double{x[at_x]} * w[at_w]);
      add(input_grad, input_magnitude, at_x, double{g[at_o]} * w[at_w]);
      add(weight_grad, weight_magnitude, at_w, double{g[at_o]} * x[at_x]);
    }
  }
  static void add(std::vector<double>& sum, std::vector<double>& magnitude, size_t at,
                  double term) {
    sum[at] += term;
    magnitude[at] += std::fabs(term);
  }
};

class ConvShapes : public testing::TestWithParam<Convolution> {};

TEST_P(ConvShapes, ForwardAndGradientsEqualTheirDefinition) {
  const Convolution& c = GetParam();
  CpuDevice device;
  const Buffer x = device.random(c.input, 1);
  const Buffer w = device.random(c.weight, 2);
  const Buffer out = device.run(OpCode::conv2d, {x, w}, c.attrs)[0];
  const Buffer g = device.random(out.spec.shape, 3);
  const ConvReference exact(c, out.spec.shape, device.read<float>(x), device.read<float>(w),
                            device.read<float>(g));
  EXPECT_LT(worst_error(device.read<float>(out), exact.out, exact.out_magnitude), 1e-5);

  ConvAttrs attrs = c.attrs;
  attrs.shape = c.input;
  const Buffer input_grad = device.run(OpCode::conv2d_input_grad, {g, w}, attrs)[0];
  EXPECT_LT(worst_error(device.read<float>(input_grad), exact.input_grad, exact.input_magnitude),
            1e-5);
  attrs.shape = c.weight;
  const Buffer weight_grad = device.run(OpCode::conv2d_weight_grad, {g, x}, attrs)[0];
  EXPECT_LT(worst_error(device.read<float>(weight_grad), exact.weight_grad, exact.weight_magnitude),
            1e-5);
}

ConvAttrs conv_attrs(Dims stride, Dims padding, Dims dilation, int64_t groups) {
  return {std::move(stride), std::move(padding), std::move(dilation), groups, {}};
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvShapes,
    testing::Values(
        Convolution{{1, 1, 1, 1}, {1, 1, 1, 1}, conv_attrs({1, 1}, {0, 0}, {1, 1}, 1)},
        Convolution{{5, 3, 8, 8}, {4, 3, 3, 3}, conv_attrs({1, 1}, {0, 0}, {1, 1}, 1)},
        Convolution{{64, 1, 8, 8}, {32, 1, 3, 3}, conv_attrs({1, 1}, {1, 1}, {1, 1}, 1)},
        Convolution{{3, 32, 8, 8}, {33, 32, 3, 3}, conv_attrs({1, 1}, {1, 1}, {1, 1}, 1)},
        Convolution{{2, 4, 11, 9}, {6, 2, 3, 2}, conv_attrs({2, 3}, {2, 1}, {1, 1}, 2)},
        Convolution{{2, 4, 13, 12}, {4, 1, 3, 3}, conv_attrs({1, 2}, {4, 0}, {3, 2}, 4)},
        Convolution{{1, 2, 70, 65}, {3, 2, 5, 5}, conv_attrs({1, 1}, {2, 2}, {1, 1}, 1)},
        Convolution{{2, 3, 7, 7}, {2, 3, 1, 1}, conv_attrs({3, 3}, {5, 5}, {1, 1}, 1)},
        Convolution{{3, 6, 28, 28}, {6, 1, 3, 3}, conv_attrs({1, 1}, {1, 1}, {1, 1}, 6)},
        Convolution{{2, 3, 40, 7}, {3, 1, 2, 5}, conv_attrs({2, 2}, {1, 2}, {1, 1}, 3)},
        Convolution{{3, 5, 14, 15}, {7, 5, 1, 1}, conv_attrs({1, 1}, {0, 0}, {1, 1}, 1)},
        Convolution{{5, 6, 4, 4}, {4, 3, 1, 1}, conv_attrs({1, 1}, {0, 0}, {1, 1}, 2)},
        Convolution{{2, 1, 200, 180}, {2, 1, 3, 3}, conv_attrs({1, 1}, {1, 1}, {1, 1}, 1)}));

TEST(Conv2d, WorksWithoutImagesAndWithoutChannels) {
  CpuDevice device;
  const ConvAttrs attrs;
  const Buffer no_images = device.upload<float>({0, 2, 5, 5}, {});
  const Buffer w = device.random({3, 2, 3, 3}, 1);
  EXPECT_EQ(device.run(OpCode::conv2d, {no_images, w}, attrs)[0].spec.shape, (Shape{0, 3, 3, 3}));
  ConvAttrs gradient;
  gradient.shape = {3, 2, 3, 3};
  const Buffer no_gradient = device.upload<float>({0, 3, 3, 3}, {});
  EXPECT_EQ(device.read<float>(
                device.run(OpCode::conv2d_weight_grad, {no_gradient, no_images}, gradient)[0]),
            std::vector<float>(54, 0.0f));
  const Buffer no_channels = device.upload<float>({1, 0, 5, 5}, {});
  const Buffer empty_weight = device.upload<float>({2, 0, 3, 3}, {});
  EXPECT_EQ(device.read<float>(device.run(OpCode::conv2d, {no_channels, empty_weight}, attrs)[0]),
            std::vector<float>(18, 0.0f));
}

TEST(Conv2d, StridedOperandsMatchTheirCopies) {
  CpuDevice device;
  const Buffer channels_last = device.random({3, 9, 9, 4}, 1);
  const Buffer view = device.run(OpCode::permute, {channels_last}, PermuteAttrs{{0, 3, 1, 2}})[0];
  const Buffer copy = device.upload(view.spec.shape, device.read<float>(view));
  const Buffer w = device.random({5, 4, 3, 3}, 2);
  EXPECT_EQ(device.read<float>(device.run(OpCode::conv2d, {view, w}, ConvAttrs())[0]),
            device.read<float>(device.run(OpCode::conv2d, {copy, w}, ConvAttrs())[0]));
}

}  // namespace
}  // namespace remora::cpu
