// Matrix products, convolution with its gradients, and pooling: loops over every index, straight
// from the definitions.
#include <cmath>
#include <numbers>

#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

using dispatch::ConvAttrs;
using dispatch::PoolAttrs;

Arrays matmul(const Arrays& inputs, const dispatch::Attrs&) {
  const Array& x = inputs[0];
  const Array& y = inputs[1];
  const int64_t rank = x.rank();
  const int64_t rows = x.spec.shape[rank - 2];
  const int64_t inner = x.spec.shape[rank - 1];
  const int64_t columns = y.spec.shape[rank - 1];
  Shape shape = x.spec.shape;
  shape[rank - 1] = columns;
  Array result({x.spec.dtype, shape});
  for_each(shape, [&](const Dims&, int64_t to) {
    const int64_t column = to % columns;
    const int64_t row = to / columns % rows;
    const int64_t batch = to / columns / rows;
    const auto at = static_cast<size_t>(to);
    for (int64_t k = 0; k < inner; ++k) {
      const auto left = static_cast<size_t>((batch * rows + row) * inner + k);
      const auto right = static_cast<size_t>((batch * inner + k) * columns + column);
      if (x.is_real()) {
        result.reals[at] += x.reals[left] * y.reals[right];
      } else {
        const auto product = static_cast<unsigned __int128>(x.integer(left)) *
                             static_cast<unsigned __int128>(y.integer(right));
        result.set_integer(
            at, static_cast<Integer>(product + static_cast<unsigned __int128>(result.integer(at))));
      }
    }
  });
  return {result};
}

/// One product of a convolution: which elements of input, weight and output meet.
using Meeting = std::function<void(int64_t input, int64_t weight, int64_t output)>;

int64_t conv_size(int64_t size, int64_t kernel, const ConvAttrs& attrs, size_t side) {
  return (size + 2 * attrs.padding[side] - attrs.dilation[side] * (kernel - 1) - 1) /
             attrs.stride[side] +
         1;
}

/// Calls `meet` for every product in conv2d of `input` with `weight`.
void for_each_product(const Shape& input, const Shape& weight, const Shape& output,
                      const ConvAttrs& attrs, const Meeting& meet) {
  const int64_t group_outputs = weight[0] / attrs.groups;
  for_each(output, [&](const Dims& o, int64_t out) {
    for (int64_t c = 0; c < weight[1]; ++c) {
      for (int64_t kh = 0; kh < weight[2]; ++kh) {
        for (int64_t kw = 0; kw < weight[3]; ++kw) {
          const int64_t h = o[2] * attrs.stride[0] + kh * attrs.dilation[0] - attrs.padding[0];
          const int64_t w = o[3] * attrs.stride[1] + kw * attrs.dilation[1] - attrs.padding[1];
          if (h < 0 || h >= input[2] || w < 0 || w >= input[3]) continue;
          const int64_t channel = o[1] / group_outputs * weight[1] + c;
          meet(offset_of(input, {o[0], channel, h, w}), offset_of(weight, {o[1], c, kh, kw}), out);
        }
      }
    }
  });
}

Arrays conv2d(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& conv = std::get<ConvAttrs>(attrs);
  const Shape& input = inputs[0].spec.shape;
  const Shape& weight = inputs[1].spec.shape;
  const Shape output = {input[0], weight[0], conv_size(input[2], weight[2], conv, 0),
                        conv_size(input[3], weight[3], conv, 1)};
  Array result({inputs[0].spec.dtype, output});
  for_each_product(input, weight, output, conv, [&](int64_t i, int64_t w, int64_t o) {
    result.reals[static_cast<size_t>(o)] +=
        inputs[0].reals[static_cast<size_t>(i)] * inputs[1].reals[static_cast<size_t>(w)];
  });
  return {result};
}

Arrays conv2d_input_grad(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& conv = std::get<ConvAttrs>(attrs);
  const Array& gradient = inputs[0];
  const Array& weight = inputs[1];
  Array result({gradient.spec.dtype, conv.shape});
  for_each_product(conv.shape, weight.spec.shape, gradient.spec.shape, conv,
                   [&](int64_t i, int64_t w, int64_t o) {
                     result.reals[static_cast<size_t>(i)] +=
                         gradient.reals[static_cast<size_t>(o)] *
                         weight.reals[static_cast<size_t>(w)];
                   });
  return {result};
}

Arrays conv2d_weight_grad(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& conv = std::get<ConvAttrs>(attrs);
  const Array& gradient = inputs[0];
  const Array& input = inputs[1];
  Array result({gradient.spec.dtype, conv.shape});
  for_each_product(input.spec.shape, conv.shape, gradient.spec.shape, conv,
                   [&](int64_t i, int64_t w, int64_t o) {
                     result.reals[static_cast<size_t>(w)] +=
                         gradient.reals[static_cast<size_t>(o)] *
                         input.reals[static_cast<size_t>(i)];
                   });
  return {result};
}

/// Outputs of a pooling along one side. In ceil mode the last window must still begin inside the
/// input or its left padding.
int64_t pool_size(int64_t size, const PoolAttrs& pool, size_t side) {
  const int64_t reach =
      size + 2 * pool.padding[side] - pool.dilation[side] * (pool.kernel[side] - 1) - 1;
  int64_t count = reach / pool.stride[side] + 1;
  if (pool.ceil_mode && reach % pool.stride[side] != 0) ++count;
  if (pool.ceil_mode && (count - 1) * pool.stride[side] >= size + pool.padding[side]) --count;
  return count;
}

/// True if element `a` is above element `b`; a NaN is above every number.
bool is_above(const Array& x, int64_t a, int64_t b) {
  if (!x.is_real()) return x.integer(static_cast<size_t>(a)) > x.integer(static_cast<size_t>(b));
  const double at_a = x.as_real(a);
  const double at_b = x.as_real(b);
  return at_a > at_b || (std::isnan(at_a) && !std::isnan(at_b));
}

/// Of equals the first in row-major order is chosen.
Arrays max_pool2d(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const auto& pool = std::get<PoolAttrs>(attrs);
  const Array& x = inputs[0];
  const Shape& shape = x.spec.shape;
  const Shape output = {shape[0], shape[1], pool_size(shape[2], pool, 0),
                        pool_size(shape[3], pool, 1)};
  Array largest({x.spec.dtype, output});
  Array places({DType::kI64, output});
  for_each(output, [&](const Dims& o, int64_t to) {
    int64_t best = -1;
    for (int64_t kh = 0; kh < pool.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < pool.kernel[1]; ++kw) {
        const int64_t h = o[2] * pool.stride[0] + kh * pool.dilation[0] - pool.padding[0];
        const int64_t w = o[3] * pool.stride[1] + kw * pool.dilation[1] - pool.padding[1];
        if (h < 0 || h >= shape[2] || w < 0 || w >= shape[3]) continue;
        const int64_t at = offset_of(shape, {o[0], o[1], h, w});
        if (best < 0 || is_above(x, at, best)) best = at;
      }
    }
    copy_element(x, best, largest, to);
    places.integers[static_cast<size_t>(to)] = best % (shape[2] * shape[3]);
  });
  return {largest, places};
}

Arrays fft(const Arrays& inputs, const dispatch::Attrs& attrs) {
  const Array& x = inputs[0];
  const int64_t n = x.spec.shape[x.rank() - 2];
  const double sign = std::get<dispatch::FftAttrs>(attrs).inverse ? 1.0 : -1.0;
  Array result(x.spec);
  for_each(x.spec.shape, [&](const Dims&, int64_t to) {
    const int64_t k = to / 2 % n;
    const int64_t line = to - 2 * k - to % 2;
    for (int64_t j = 0; j < n; ++j) {
      const double angle =
          sign * 2.0 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      const double real = x.reals[static_cast<size_t>(line + 2 * j)];
      const double imaginary = x.reals[static_cast<size_t>(line + 2 * j + 1)];
      result.reals[static_cast<size_t>(to)] +=
          to % 2 == 0 ? real * std::cos(angle) - imaginary * std::sin(angle)
                      : real * std::sin(angle) + imaginary * std::cos(angle);
    }
  });
  return {result};
}

}  // namespace

void add_contractions(Table& table) {
  table["matmul"] = matmul;
  table["conv2d"] = conv2d;
  table["conv2d_input_grad"] = conv2d_input_grad;
  table["conv2d_weight_grad"] = conv2d_weight_grad;
  table["fft"] = fft;
  table["max_pool2d"] = max_pool2d;
}

}  // namespace remora::reference
