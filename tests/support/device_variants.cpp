#include "tests/support/device_variants.h"

#include <memory>

#include "dispatch/device_state.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

/// Shared by all tests of a program; its destructor runs at exit and ends it.
WorkerProcess& shared_worker() {
  static const auto worker = std::make_unique<WorkerProcess>();
  return *worker;
}

}  // namespace

const std::vector<DeviceVariant>& device_variants() {
  static const std::vector<DeviceVariant> kVariants = {
      {"cpu", [] { return Device::cpu(); }},
      {"worker_cpu", [] { return Device::parse(shared_worker().device("cpu")); }},
  };
  return kVariants;
}

bool same_fingerprint(const Device& a, const Device& b) {
  return a.state().backend().info().fingerprint == b.state().backend().info().fingerprint;
}

}  // namespace remora::test
