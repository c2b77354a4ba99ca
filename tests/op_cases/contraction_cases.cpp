// Matrix products, convolutions and pooling.
#include <cmath>

#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::ConvAttrs;
using dispatch::FftAttrs;
using dispatch::PoolAttrs;

void add_matmul(OpCases& cases) {
  cases.push_back({"matmul", "f32", {f32({3, 4}), f32({4, 5})}});
  cases.push_back({"matmul", "f32 batched", {f32({2, 3, 4}), f32({2, 4, 5})}});
  cases.push_back({"matmul", "f32 two batch axes", {f32({2, 2, 1, 3}), f32({2, 2, 3, 2})}});
  cases.push_back({"matmul", "f32 row by column", {f32({1, 7}), f32({7, 1})}});
  cases.push_back({"matmul", "f32 column by row", {f32({7, 1}), f32({1, 6})}});
  cases.push_back({"matmul", "f32 no inner", {f32({2, 0}), f32({0, 3})}});
  cases.push_back({"matmul", "f32 no rows", {f32({0, 4}), f32({4, 3})}});
  cases.push_back({"matmul", "f32 no batch", {f32({0, 2, 4}), f32({0, 4, 3})}});
  cases.push_back({"matmul", "f32 beyond a tile", {f32({150, 70}), f32({70, 139})}});
  cases.push_back({"matmul", "f32 long inner", {f32({3, 1500}), f32({1500, 5})}});
  cases.push_back({"matmul", "f32 many small", {f32({40, 3, 5}), f32({40, 5, 2})}});
  cases.push_back({"matmul", "i64", {i64({3, 4}), i64({4, 2})}});
  cases.push_back({"matmul", "i64 batched", {i64({2, 3, 4}), i64({2, 4, 2})}});
}

/// The three convolution rows under one geometry: the output's sizes are given, as the op computes
/// them.
void conv(OpCases& cases, const std::string& name, const Shape& input, const Shape& weight,
          const Shape& output, ConvAttrs attrs) {
  cases.push_back({"conv2d", name, {f32(input), f32(weight)}, attrs});
  attrs.shape = input;
  cases.push_back({"conv2d_input_grad", name, {f32(output), f32(weight)}, attrs});
  attrs.shape = weight;
  cases.push_back({"conv2d_weight_grad", name, {f32(output), f32(input)}, attrs});
}

ConvAttrs geometry(Dims stride, Dims padding = {0, 0}, Dims dilation = {1, 1}, int64_t groups = 1) {
  return {std::move(stride), std::move(padding), std::move(dilation), groups, {}};
}

void add_convolutions(OpCases& cases) {
  conv(cases, "plain", {2, 3, 5, 4}, {2, 3, 3, 2}, {2, 2, 3, 3}, {});
  conv(cases, "1 by 1", {1, 3, 3, 3}, {2, 3, 1, 1}, {1, 2, 3, 3}, {});
  conv(cases, "stride", {1, 2, 6, 7}, {2, 2, 3, 3}, {1, 2, 2, 3}, geometry({2, 2}));
  conv(cases, "padding", {1, 2, 4, 4}, {3, 2, 3, 3}, {1, 3, 4, 4}, geometry({1, 1}, {1, 1}));
  conv(cases, "dilation", {1, 1, 6, 6}, {1, 1, 2, 3}, {1, 1, 4, 2},
       geometry({1, 1}, {0, 0}, {2, 2}));
  conv(cases, "groups", {1, 4, 4, 4}, {6, 2, 2, 2}, {1, 6, 3, 3},
       geometry({1, 1}, {0, 0}, {1, 1}, 2));
  conv(cases, "depthwise", {2, 3, 4, 4}, {3, 1, 3, 3}, {2, 3, 4, 4},
       geometry({1, 1}, {1, 1}, {1, 1}, 3));
  conv(cases, "uneven", {1, 2, 5, 9}, {2, 2, 2, 3}, {1, 2, 3, 5}, geometry({3, 2}, {2, 1}));
  conv(cases, "a rest that no window covers", {1, 1, 6, 6}, {1, 1, 3, 3}, {1, 1, 2, 2},
       geometry({2, 2}));
  conv(cases, "empty batch", {0, 2, 4, 4}, {3, 2, 3, 3}, {0, 3, 2, 2}, {});
  conv(cases, "batch of 20", {20, 3, 9, 8}, {8, 3, 3, 3}, {20, 8, 7, 6}, {});
}

void add_max_pool2d(OpCases& cases) {
  const std::string op = "max_pool2d";
  const double nan = std::nan("");
  const PoolAttrs two_by_two{.kernel = {2, 2}, .stride = {2, 2}};
  PoolAttrs up = two_by_two;
  up.ceil_mode = true;
  cases.push_back({op, "f32", {distinct({2, 2, 4, 6})}, two_by_two});
  cases.push_back({op,
                   "f32 overlapping",
                   {distinct({1, 2, 5, 5})},
                   PoolAttrs{.kernel = {3, 2}, .stride = {1, 2}}});
  cases.push_back({op,
                   "f32 padding",
                   {distinct({1, 1, 5, 5})},
                   PoolAttrs{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}});
  cases.push_back({op,
                   "f32 dilation",
                   {distinct({1, 1, 6, 6})},
                   PoolAttrs{.kernel = {2, 2}, .stride = {1, 1}, .dilation = {2, 3}}});
  cases.push_back({op, "f32 rest dropped", {distinct({1, 1, 5, 5})}, two_by_two});
  cases.push_back({op, "f32 rounded up", {distinct({1, 1, 5, 5})}, up});
  cases.push_back({op, "f32 empty batch", {f32({0, 2, 4, 4})}, two_by_two});
  cases.push_back(
      {op, "f32 first of equals", {listed({1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 0, 2})}, two_by_two});
  cases.push_back({op, "f32 NaN", {listed({1, 1, 2, 2}, {1, nan, 3, 4})}, two_by_two});
  cases.push_back({op,
                   "f32 minus infinity",
                   {listed({1, 1, 2, 2}, std::vector<double>(4, -INFINITY))},
                   PoolAttrs{.kernel = {2, 2}, .stride = {1, 1}, .padding = {1, 1}}});
  cases.push_back({op, "i64", {i64({1, 2, 4, 4})}, two_by_two});
}

void add_fft(OpCases& cases) {
  for (const bool inverse : {false, true}) {
    const std::string suffix = inverse ? ", inverse" : "";
    // Powers of two, small factors, a prime, a prime beyond what is done directly, and twice one.
    for (const int64_t n : {1, 2, 8, 30, 13, 67, 134}) {
      const std::string name = "f32 of " + std::to_string(n) + suffix;
      cases.push_back({"fft", name, {f32({2, n, 2})}, FftAttrs{inverse}});
    }
    cases.push_back({"fft", "f32 of nothing" + suffix, {f32({3, 0, 2})}, FftAttrs{inverse}});
    cases.push_back({"fft", "f32 no lines" + suffix, {f32({0, 4, 2})}, FftAttrs{inverse}});
    cases.push_back({"fft", "f32 many lines" + suffix, {f32({700, 16, 2})}, FftAttrs{inverse}});
  }
}

}  // namespace

void add_contraction_cases(OpCases& cases) {
  add_matmul(cases);
  add_convolutions(cases);
  add_max_pool2d(cases);
  add_fft(cases);
}

}  // namespace remora::test
