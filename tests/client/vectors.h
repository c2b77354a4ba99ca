// PyTorch's answers in tests/vectors/training, as tensors of the test's device.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/client/device.h"

namespace remora {

using Json = nlohmann::json;

inline Json read_vectors(const std::string& name) {
  std::ifstream file(std::string(REMORA_SOURCE_DIR) + "/tests/vectors/training/" + name);
  return Json::parse(file);
}

inline Shape shape_of(const Json& tensor) {
  Shape shape;
  for (const int64_t size : tensor.at("shape")) shape.sizes().push_back(size);
  return shape;
}

/// i64 where every element is written as an integer, else f32.
inline Tensor tensor_of(const Json& tensor, const Device& device = test_device()) {
  const Json& data = tensor.at("data");
  const bool integers =
      !data.empty() && std::all_of(data.begin(), data.end(),
                                   [](const Json& element) { return element.is_number_integer(); });
  if (integers) return from_data(data.get<std::vector<int64_t>>(), shape_of(tensor), device);
  return from_data(data.get<std::vector<float>>(), shape_of(tensor), device);
}

/// Shape, and elements within `tolerance` of the largest magnitude.
inline void expect_like(const Tensor& actual, const Json& tensor, float tolerance = 1e-5F) {
  ASSERT_EQ(actual.shape(), shape_of(tensor));
  const auto expected = tensor.at("data").get<std::vector<float>>();
  const std::vector<float> elements = actual.astype(DType::kF32).to_vector<float>();
  float scale = 1.0F;
  for (const float value : expected) scale = std::max(scale, std::fabs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(elements[i], expected[i], tolerance * scale) << "element " << i;
  }
}

}  // namespace remora
