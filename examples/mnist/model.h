// The model that the MNIST examples train and capture.
#pragma once

#include "remora/remora.h"

namespace remora::mnist {

/// Bytes as numbers of about mean 0 and deviation 1: what the model takes.
inline Tensor normalized(const Tensor& images) {
  return (astype(images, DType::kF32) - 33.3) / 78.6;
}

/// f32 [batch, 1, 28, 28] to logits f32 [batch, 10].
inline nn::Sequential make_model() {
  return nn::Sequential(nn::Conv2d(1, 16, 3, {.padding = 1}), nn::BatchNorm2d(16), nn::ReLU(),
                        nn::MaxPool2d(2),  // 28 x 28 -> 14 x 14
                        nn::Conv2d(16, 32, 3, {.padding = 1}), nn::BatchNorm2d(32), nn::ReLU(),
                        nn::MaxPool2d(2),  // -> 7 x 7
                        nn::Flatten(), nn::Linear(1568, 128), nn::ReLU(), nn::Linear(128, 10));
}

}  // namespace remora::mnist
