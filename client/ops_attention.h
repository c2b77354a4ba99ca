// Attention. The rules of ops.h hold; floats only.
#pragma once

#include <optional>

#include "client/operand.h"
#include "client/tensor.h"

namespace remora {

struct AttentionOptions {
  /// Broadcasts to the scores [.., L, S], and has no more axes. bool: true where a query may attend
  /// to a key; floats are added to the scores. A query that may attend to nothing gives zeros. What
  /// is not attended to has the weight 0, so a value there must be finite.
  Tensor mask = {};
  double dropout = 0.0;              // of the weights, always: 0 where nothing is trained
  bool causal = false;               // query i attends to keys 0 .. i only
  std::optional<double> scale = {};  // of the scores; 1 / sqrt(E) unless given
  /// Axis -3 of key and value divides that of the query: each of their heads serves a group.
  bool grouped_heads = false;
};
/// softmax(query key^T scale + mask) value: [.., L, E], [.., S, E], [.., S, V] -> [.., L, V];
/// leading axes broadcast. Vaswani et al., "Attention is all you need", 2017, section 3.2.1.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

/// Pairs of elements of the last axis of x [.., T, D] turned by angles whose cosines and sines are
/// [.., T, D / 2], broadcast. A pair is (i, i + D / 2), or (2 i, 2 i + 1) if `interleaved`. Su et
/// al., "RoFormer", 2021.
Tensor rotary_embedding(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                        bool interleaved = false);

}  // namespace remora
