// Attention and rotary embedding against their definitions.
#include <array>
#include <functional>
#include <limits>

#include "client/apply.h"
#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kQueries = 3, kKeys = 4, kWidth = 2, kValueWidth = 3;

struct Example {
  std::vector<float> query, key, value;
};

Example example(int64_t heads) {
  Example result;
  const auto fill = [](std::vector<float>& to, int64_t count, int64_t salt) {
    for (int64_t i = 0; i < count; ++i)
      to.push_back(static_cast<float>((i * 7 + salt) % 11) / 5.0F - 1.0F);
  };
  fill(result.query, heads * kQueries * kWidth, 3);
  fill(result.key, heads * kKeys * kWidth, 5);
  fill(result.value, heads * kKeys * kValueWidth, 1);
  return result;
}

/// What is added to the score of a query and a key: 0, or -infinity where it may not be seen.
using Bias = std::function<double(int64_t query, int64_t key)>;

/// Attention of one head from its definition, in f64; a row that sees nothing is zero.
std::vector<float> naive(const Example& example, double scale, const Bias& bias) {
  std::vector<float> result;
  for (int64_t i = 0; i < kQueries; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (int64_t j = 0; j < kKeys; ++j) {
      double score = 0;
      for (int64_t e = 0; e < kWidth; ++e) {
        score += static_cast<double>(example.query[static_cast<size_t>(i * kWidth + e)]) *
                 static_cast<double>(example.key[static_cast<size_t>(j * kWidth + e)]);
      }
      weights.push_back(std::exp(score * scale + bias(i, j)));
      total += weights.back();
    }
    for (int64_t v = 0; v < kValueWidth; ++v) {
      double sum = 0;
      for (int64_t j = 0; j < kKeys; ++j) {
        sum += weights[static_cast<size_t>(j)] *
               static_cast<double>(example.value[static_cast<size_t>(j * kValueWidth + v)]);
      }
      result.push_back(total == 0 ? 0.0F : static_cast<float>(sum / total));
    }
  }
  return result;
}

Tensor attend(const Example& example, const AttentionOptions& options) {
  return scaled_dot_product_attention(floats(example.query, {kQueries, kWidth}),
                                      floats(example.key, {kKeys, kWidth}),
                                      floats(example.value, {kKeys, kValueWidth}), options);
}

TEST(attention, follows_its_definition) {
  const Example one = example(1);
  const double scale = 1.0 / std::sqrt(static_cast<double>(kWidth));
  const double hidden = -std::numeric_limits<double>::infinity();
  expect_near(attend(one, {}), naive(one, scale, [](int64_t, int64_t) { return 0.0; }), 1e-6F);
  expect_near(attend(one, {.scale = 0.3}), naive(one, 0.3, [](int64_t, int64_t) { return 0.0; }),
              1e-6F);
  expect_near(attend(one, {.causal = true}),
              naive(one, scale, [&](int64_t i, int64_t j) { return j <= i ? 0.0 : hidden; }),
              1e-6F);
  const Tensor added = floats({0, -1, 0.5F, 2}, {kKeys});
  expect_near(attend(one, {.mask = added}),
              naive(one, scale,
                    [](int64_t, int64_t j) {
                      return std::array{0.0, -1.0, 0.5, 2.0}[static_cast<size_t>(j)];
                    }),
              1e-6F);
}

TEST(attention, a_query_that_sees_nothing_gives_zeros_and_no_nan_in_gradients) {
  const Example one = example(1);
  const std::vector<bool> seen = {true,  false, true, true, false, false,
                                  false, false, true, true, true,  true};
  const Tensor mask = booleans(seen, {kQueries, kKeys});
  const double hidden = -std::numeric_limits<double>::infinity();
  expect_near(attend(one, {.mask = mask}),
              naive(one, 1.0 / std::sqrt(2.0),
                    [&](int64_t i, int64_t j) {
                      return seen[static_cast<size_t>(i * kKeys + j)] ? 0.0 : hidden;
                    }),
              1e-6F);
  const Tensor query = leaf(one.query, {kQueries, kWidth});
  const Tensor key = leaf(one.key, {kKeys, kWidth});
  const Tensor value = leaf(one.value, {kKeys, kValueWidth});
  const Tensor result = scaled_dot_product_attention(query, key, value, {.mask = mask});
  const std::vector<Tensor> inputs = {query, key, value};
  for (const Tensor& gradient : autodiff::grad(sum(square(result)), inputs)) {
    for (const float element : gradient.to_vector<float>()) EXPECT_TRUE(std::isfinite(element));
  }
}

TEST(attention, grouped_heads_serve_several_queries_each) {
  const Example four = example(4);
  const Tensor query = floats(four.query, {1, 4, kQueries, kWidth});
  const Tensor key = narrow(floats(four.key, {1, 4, kKeys, kWidth}), 1, 0, 2);
  const Tensor value = narrow(floats(four.value, {1, 4, kKeys, kValueWidth}), 1, 0, 2);
  const Tensor grouped = scaled_dot_product_attention(query, key, value, {.grouped_heads = true});
  for (int64_t head = 0; head < 4; ++head) {
    const Tensor alone = scaled_dot_product_attention(
        select(query, 1, head), select(key, 1, head / 2), select(value, 1, head / 2));
    expect_near(select(grouped, 1, head), alone.to_vector<float>(), 1e-6F);
  }
  expect_error(kInvalid, "do not divide", [&] {
    scaled_dot_product_attention(narrow(query, 1, 0, 3), key, value, {.grouped_heads = true});
  });
}

TEST(attention, without_a_width_every_key_weighs_the_same) {
  const Tensor nothing = zeros({1, 0}, test_device());
  expect_near(
      scaled_dot_product_attention(nothing, zeros({2, 0}, test_device()), floats({1, 3}, {2, 1})),
      {2}, 1e-6F);
}

TEST(attention, what_does_not_fit_is_refused) {
  const Example one = example(1);
  const Tensor query = floats(one.query, {kQueries, kWidth});
  expect_error(kInvalid, "do not fit each other",
               [&] { scaled_dot_product_attention(query, transpose(query), query); });
  expect_error(kInvalid, "dropout", [&] { attend(one, {.dropout = 1.5}); });
  expect_error(kInvalid, "the mask is i64", [&] {
    attend(one, {.mask = integers({1, 1, 1, 1}, {kKeys})});
  });
}

TEST(attention, half_types_round_once) {
  const Example one = example(1);
  const auto half = [](const std::vector<float>& values, const Shape& shape) {
    return astype(floats(values, shape), DType::kF16);
  };
  const Tensor result = scaled_dot_product_attention(half(one.query, {kQueries, kWidth}),
                                                     half(one.key, {kKeys, kWidth}),
                                                     half(one.value, {kKeys, kValueWidth}));
  const auto widened = [&](const std::vector<float>& values, const Shape& shape) {
    return astype(half(values, shape), DType::kF32);
  };
  const Tensor exact = scaled_dot_product_attention(widened(one.query, {kQueries, kWidth}),
                                                    widened(one.key, {kKeys, kWidth}),
                                                    widened(one.value, {kKeys, kValueWidth}));
  EXPECT_EQ(result.to_vector<float>(), astype(exact, DType::kF16).to_vector<float>());
}

TEST(attention, no_head_of_a_query_is_refused_and_a_hidden_query_gives_zeros_whatever_the_values) {
  const Tensor none = zeros({1, 0, kQueries, kWidth}, test_device());
  const Tensor keys = zeros({1, 2, kKeys, kWidth}, test_device());
  expect_error(kInvalid, "do not divide",
               [&] { scaled_dot_product_attention(none, keys, keys, {.grouped_heads = true}); });
  const std::vector<Tensor> operands = {none, keys, keys};
  expect_error(kInvalid, "do not fit", [&] {
    apply_all(dispatch::OpCode::attention, operands, dispatch::AttentionAttrs{false, 1.0});
  });
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor values = floats({infinity, std::nanf(""), 1, 1}, {kKeys, 1});
  const Tensor nothing = booleans({false, false, false, false}, {kKeys});
  expect_floats(
      scaled_dot_product_attention(zeros({1, 2}, test_device()), zeros({4, 2}, test_device()),
                                   values, {.mask = nothing}),
      {0}, {1, 1});
}

TEST(attention, keys_and_values_may_have_heads_of_their_own_number) {
  const Example four = example(4);
  const Tensor query = floats(four.query, {4, kQueries, kWidth});
  const Tensor key = narrow(floats(four.key, {4, kKeys, kWidth}), 0, 0, 1);
  const Tensor value = narrow(floats(four.value, {4, kKeys, kValueWidth}), 0, 0, 2);
  const Tensor result = scaled_dot_product_attention(query, key, value, {.grouped_heads = true});
  for (int64_t head = 0; head < 4; ++head) {
    const Tensor alone = scaled_dot_product_attention(query[head], key[0], value[head / 2]);
    expect_near(result[head], alone.to_vector<float>(), 1e-6F);
  }
}

TEST(attention, a_mask_broadcasts_as_numpy_says_or_is_refused) {
  const Tensor x = zeros({6, 1, kQueries, kWidth}, test_device());
  const Tensor mask =
      booleans(std::vector<bool>(static_cast<size_t>(6 * kQueries * kQueries), true),
               {2, 3, 1, kQueries, kQueries});
  expect_error(kInvalid, "does not broadcast to [6, 1, 3, 3]",
               [&] { scaled_dot_product_attention(x, x, x, {.mask = mask}); });
  const Tensor row = zeros({kQueries, kWidth}, test_device());
  const Tensor wide = reshape(mask[0][0][0], {1, kQueries, kQueries});
  for (const double dropout : {0.0, 0.5}) {
    expect_error(kInvalid, "the mask [1, 3, 3] does not broadcast to [3, 3]", [&] {
      scaled_dot_product_attention(row, row, row, {.mask = wide, .dropout = dropout});
    });
    expect_error(kInvalid, "the mask [2, 3, 1, 3, 3] does not broadcast to [6, 1, 3, 3]", [&] {
      scaled_dot_product_attention(x, x, x, {.mask = mask, .dropout = dropout});
    });
  }
}

TEST(attention, leading_axes_broadcast) {
  manual_seed(4);
  const Tensor query = normal({2, 1, 3, kQueries, kWidth}, test_device());
  const Tensor key = normal({5, 1, kKeys, kWidth}, test_device());
  const Tensor value = normal({1, kKeys, kValueWidth}, test_device());
  const Tensor mask = uniform({5, 3, kQueries, kKeys}, test_device()) > 0.3;
  const Tensor result = scaled_dot_product_attention(query, key, value, {.mask = mask});
  ASSERT_EQ(result.shape().str(), (Shape{2, 5, 3, kQueries, kValueWidth}.str()));
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t a = i / 15, b = i / 3 % 5, c = i % 3;
    const Tensor alone =
        scaled_dot_product_attention(query[a][0][c], key[b][0], value[0], {.mask = mask[b][c]});
    expect_near(result[a][b][c], alone.to_vector<float>(), 1e-6F);
  }
  expect_error(kInvalid, "do not broadcast", [&] {
    scaled_dot_product_attention(query, narrow(key, 0, 0, 3),
                                 normal({2, 1, kKeys, 2}, test_device()));
  });
}

TEST(attention, the_whole_matrix_of_weights_is_never_in_memory) {
  constexpr int64_t kLength = 2048, kHead = 16;
  const int64_t matrix_bytes = kLength * kLength * dtype_size(DType::kF32);
  const Device device = tracked_device();
  const auto draw = [&] { return normal({1, 1, kLength, kHead}, device).require_grad(); };
  const Tensor query = draw(), key = draw(), value = draw();
  device.synchronize();
  device.trim();
  const int64_t before = device.memory().cached_bytes + device.memory().live_bytes;
  const std::vector<Tensor> inputs = {query, key, value};
  const Tensor result = scaled_dot_product_attention(query, key, value, {.causal = true});
  const std::vector<Tensor> gradients = autodiff::grad(sum(square(result)), inputs);
  device.synchronize();
  // Nothing is given back to the system before it is asked for: what is kept is the high-water
  // mark.
  const int64_t after = device.memory().cached_bytes + device.memory().live_bytes;
  EXPECT_LT(after - before, matrix_bytes / 2);
  EXPECT_TRUE(std::isfinite(sum(gradients[0]).item<float>()));
}

TEST(attention, gradients_of_blocks_equal_those_of_smaller_operations) {
  manual_seed(6);
  const Tensor query = normal({1, 4, 140, 8}, tracked_device()).require_grad();
  const Tensor key = normal({1, 2, 270, 8}, tracked_device()).require_grad();
  const Tensor value = normal({1, 2, 270, 4}, tracked_device()).require_grad();
  const Tensor added = normal({140, 270}, test_device());
  const std::vector<Tensor> inputs = {query, key, value};
  // A graph of gradients takes the other way.
  const Tensor result = scaled_dot_product_attention(
      query, key, value, {.mask = added, .causal = true, .grouped_heads = true});
  const std::vector<Tensor> composed = autodiff::grad(sum(square(result)), inputs, Tensor(),
                                                      {.create_graph = true, .keep_tape = true});
  const std::vector<Tensor> blocks = autodiff::grad(sum(square(result)), inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_near(blocks[i], composed[i].to_vector<float>(), 1e-4F);
  }
}

TEST(attention, attend_gives_the_output_of_the_call_that_gives_weights) {
  manual_seed(8);
  const nn::MultiheadAttention module(8, 2);
  const Tensor query = normal({3, 2, 8}, test_device());
  const Tensor source = normal({5, 2, 8}, test_device());
  const Tensor some = uniform({3, 5}, test_device()) > 0.8;
  const Tensor of_heads = uniform({4, 3, 5}, test_device()) > 0.8;
  const Tensor padding =
      booleans({false, false, false, true, true, false, false, false, false, true}, {2, 5});
  const Tensor added = normal({3, 5}, test_device());
  for (const nn::AttentionMasks& masks : {nn::AttentionMasks{},
                                          {.attention = some},
                                          {.attention = of_heads},
                                          {.key_padding = padding},
                                          {.key_padding = padding, .attention = some},
                                          {.key_padding = padding, .attention = added}}) {
    const Tensor output = module.attend(query, source, source, masks);
    expect_near(output, module(query, source, source, masks).output.to_vector<float>(), 1e-5F);
  }
}

TEST(rotary_embedding, turns_pairs_by_their_angles) {
  const Tensor x = floats({1, 2, 3, 4}, {1, 4});
  const Tensor cosines = floats({0, 1}, {2});
  const Tensor sines = floats({1, 0}, {2});  // the first pair by a quarter
  expect_floats(rotary_embedding(x, cosines, sines), {-3, 2, 1, 4}, {1, 4});
  expect_floats(rotary_embedding(x, cosines, sines, true), {-2, 1, 3, 4}, {1, 4});
  expect_error(kInvalid, "half as many columns",
               [&] { rotary_embedding(x, floats({1}, {1}), floats({1}, {1})); });
}

}  // namespace
}  // namespace remora
