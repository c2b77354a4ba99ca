#include "examples/char_lm/model.h"

#include <string>

namespace remora::char_lm {

CharacterModel::CharacterModel(const ModelOptions& options) : options_(options) {
  characters_ = add_module_of("characters", nn::Embedding(options.characters, options.width));
  positions_ = add_module_of("positions", nn::Embedding(options.context, options.width));
  const nn::TransformerEncoderLayerOptions layer = {
      .feedforward = 4 * options.width, .dropout = 0.0, .batch_first = true, .norm_first = true};
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(
        add_module_of("layers." + std::to_string(i),
                      nn::TransformerEncoderLayer(options.width, options.heads, layer)));
  }
  norm_ = add_module_of("norm", nn::LayerNorm({options.width}));
  head_ = add_module_of("head", nn::Linear(options.width, options.characters));
}

Tensor CharacterModel::forward(const Tensor& text) const {
  const int64_t context = options_.context;
  const Device device = text.device();
  // A character sees itself and those before it.
  const Tensor later = triu(full({context, context}, 1, device, DType::kBool), 1);
  const Tensor order = arange(0, context, 1, device, DType::kI64);
  Tensor x = (*characters_)(text) + (*positions_)(order);
  for (const auto& layer : layers_) x = (*layer)(x, {.attention = later});
  return (*head_)((*norm_)(x));
}

}  // namespace remora::char_lm
