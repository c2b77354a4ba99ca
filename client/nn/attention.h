// Attention layers, as PyTorch's: sequences are [L, N, E] unless `batch_first`, then [N, L, E].
#pragma once

#include <memory>
#include <optional>

#include "client/nn/layers.h"
#include "client/nn/module.h"
#include "client/nn/normalization.h"

namespace remora::nn {

struct MultiheadAttentionOptions {
  double dropout = 0.0;  // of the attention weights, while training
  bool bias = true;
  std::optional<int64_t> key_width = {};    // of the keys; the embedding's unless given
  std::optional<int64_t> value_width = {};  // of the values
  bool batch_first = false;
  bool add_bias_kv = false;    // one more key and value, learnt, the same for every sequence
  bool add_zero_attn = false;  // one more key and value of zeros, after that
};

/// What a call may be given besides the sequences. A bool mask is true where nothing is attended
/// to, a float mask is added to the scores.
struct AttentionMasks {
  Tensor key_padding = {};  // [N, S]
  Tensor attention = {};    // [L, S] or [N * heads, L, S]
};

struct AttentionResult {
  Tensor output;   // as the query
  Tensor weights;  // [N, L, S]: the mean over the heads; S counts appended keys too
};

/// Vaswani et al., "Attention is all you need", 2017, section 3.2.2.
class MultiheadAttention : public Module {
 public:
  /// INVALID_ARGUMENT unless `heads` divides `width`.
  MultiheadAttention(int64_t width, int64_t heads, const MultiheadAttentionOptions& options = {});
  /// `query` [L, N, width], `key` [S, N, key_width], `value` [S, N, value_width].
  AttentionResult operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionMasks& masks = {}) const;
  /// The output alone: the matrix of weights is never in memory as a whole, unless it is dropped
  /// out of, or the gradient of a mask or of a gradient is wanted. A query that may attend to
  /// nothing gives zeros before the last layer.
  Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                const AttentionMasks& masks = {}) const;

 private:
  struct Projected {
    Tensor query, key, value;  // [N, L or S, width]
  };
  /// The projected sequences. INVALID_ARGUMENT where they do not fit each other.
  Projected project(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionMasks& masks) const;
  /// Keys and values [N, S, width] with what the options append to them, which no mask hides.
  void extend(Projected& projected, AttentionMasks& masks) const;
  Tensor batch_first(const Tensor& x) const;
  Tensor heads_of(const Tensor& x) const;
  Tensor joined(const Tensor& heads) const;

  int64_t width_;
  int64_t heads_;
  MultiheadAttentionOptions options_;
  std::optional<Parameter> in_weight_;  // [3 width, width]; or one each:
  std::optional<Parameter> query_weight_;
  std::optional<Parameter> key_weight_;
  std::optional<Parameter> value_weight_;
  std::optional<Parameter> in_bias_;   // [3 width]
  std::optional<Parameter> bias_key_;  // [1, 1, width]
  std::optional<Parameter> bias_value_;
  std::shared_ptr<Linear> out_;
};

struct TransformerEncoderLayerOptions {
  int64_t feedforward = 2048;
  double dropout = 0.1;
  enum class Activation : uint8_t { kRelu, kGelu } activation = Activation::kRelu;
  double eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalize what goes into a part instead of the sum that comes out
};

/// Self-attention and a feedforward part, each with dropout, a residual sum and a normalization.
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t width, int64_t heads,
                          const TransformerEncoderLayerOptions& options = {});
  Tensor forward(const Tensor& x) const override { return (*this)(x, {}); }
  Tensor operator()(const Tensor& x, const AttentionMasks& masks = {}) const;

 private:
  Tensor attend(const Tensor& x, const AttentionMasks& masks) const;
  Tensor feed_forward(const Tensor& x) const;

  TransformerEncoderLayerOptions options_;
  std::shared_ptr<MultiheadAttention> attention_;
  std::shared_ptr<Linear> linear1_;
  std::shared_ptr<Linear> linear2_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<LayerNorm> norm2_;
};

}  // namespace remora::nn
