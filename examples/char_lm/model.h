// A transformer that predicts the next character of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "remora/remora.h"

namespace remora::char_lm {

struct ModelOptions {
  int64_t characters = 256;  // values of a byte
  int64_t context = 64;      // characters it sees
  int64_t width = 96;
  int64_t heads = 4;
  int64_t layers = 2;
};

class CharacterModel : public nn::Module {
 public:
  explicit CharacterModel(const ModelOptions& options);
  /// i64 [N, context] to logits of each next character, [N, context, characters].
  Tensor forward(const Tensor& text) const override;

 private:
  ModelOptions options_;
  std::shared_ptr<nn::Embedding> characters_;
  std::shared_ptr<nn::Embedding> positions_;
  std::vector<std::shared_ptr<nn::TransformerEncoderLayer>> layers_;
  std::shared_ptr<nn::LayerNorm> norm_;
  std::shared_ptr<nn::Linear> head_;
};

}  // namespace remora::char_lm
