// What the client's tests share: the device they run on and how tensors are compared.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "remora/remora.h"

namespace remora {

/// REMORA_DEVICE, else the default device.
inline Device test_device() { return Device::default_device(); }
inline Device tracked_device() { return test_device().autodiff(); }

inline Tensor floats(const std::vector<float>& values, const Shape& shape) {
  return from_data(values, shape, test_device());
}
inline Tensor integers(const std::vector<int64_t>& values, const Shape& shape) {
  return from_data(values, shape, test_device());
}
inline Tensor booleans(const std::vector<bool>& values, const Shape& shape) {
  return from_data(values, shape, test_device());
}
/// A trainable leaf.
inline Tensor leaf(const std::vector<float>& values, const Shape& shape) {
  return from_data(values, shape, tracked_device()).require_grad();
}

/// Elements and shape, exactly; NaN equals NaN.
inline void expect_floats(const Tensor& actual, const std::vector<float>& values,
                          const Shape& shape) {
  ASSERT_EQ(actual.spec().str(), (Spec{DType::kF32, shape}.str()));
  const std::vector<float> elements = actual.to_vector<float>();
  ASSERT_EQ(elements.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(elements[i])) << "element " << i << " is " << elements[i];
    } else {
      EXPECT_EQ(elements[i], values[i]) << "element " << i;
    }
  }
}
inline void expect_near(const Tensor& actual, const std::vector<float>& values, float tolerance) {
  const std::vector<float> elements = actual.to_vector<float>();
  ASSERT_EQ(elements.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(elements[i], values[i], tolerance * (1.0F + std::fabs(values[i])))
        << "element " << i;
  }
}
inline void expect_integers(const Tensor& actual, const std::vector<int64_t>& values,
                            const Shape& shape) {
  ASSERT_EQ(actual.spec().str(), (Spec{DType::kI64, shape}.str()));
  EXPECT_EQ(actual.to_vector<int64_t>(), values);
}
inline void expect_booleans(const Tensor& actual, const std::vector<bool>& values,
                            const Shape& shape) {
  ASSERT_EQ(actual.spec().str(), (Spec{DType::kBool, shape}.str()));
  EXPECT_EQ(actual.to_vector<bool>(), values);
}

/// Runs `statement` and expects an Error of `code` whose text contains `part`.
template <typename Statement>
void expect_error(absl::StatusCode code, const std::string& part, Statement statement) {
  try {
    statement();
    FAIL() << "nothing was thrown; expected \"" << part << "\"";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace remora
