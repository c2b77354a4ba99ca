// The devices that every test of ops runs on: those of this machine, and each of them through a
// worker that this test program starts at first use and that ends with it.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "dispatch/device.h"
#include "gtest/gtest.h"

namespace remora::test {

struct DeviceVariant {
  std::string name;                // "cpu", "worker_cpu"
  std::function<Device()> device;  // starts the worker if there is none yet
  friend std::ostream& operator<<(std::ostream& out, const DeviceVariant& variant) {
    return out << variant.name;
  }
};

const std::vector<DeviceVariant>& device_variants();

/// A fixture whose tests run on every variant: instantiate with `REMORA_ON_EVERY_DEVICE(Suite)`.
class OnEveryDevice : public testing::TestWithParam<DeviceVariant> {
 protected:
  Device device() const { return GetParam().device(); }
  static bool is_remote() { return GetParam().name.starts_with("worker_"); }
};

/// Equal fingerprints: results are compared bit for bit.
bool same_fingerprint(const Device& a, const Device& b);

}  // namespace remora::test

#define REMORA_ON_EVERY_DEVICE(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(on, suite, testing::ValuesIn(remora::test::device_variants()), \
                           [](const auto& variant) { return variant.param.name; })
