#include "tests/support/device_variants.h"

#include <memory>

#include "dispatch/device_state.h"
#if REMORA_REMOTE
#include "tests/support/worker_process.h"
#endif

namespace remora::test {
namespace {

#if REMORA_REMOTE
/// Shared by all tests of a program; its destructor runs at exit and ends it.
WorkerProcess& shared_worker() {
  static const auto worker = std::make_unique<WorkerProcess>();
  return *worker;
}
#endif

}  // namespace

const std::vector<DeviceVariant>& device_variants() {
  static const std::vector<DeviceVariant> kVariants = {
    {"cpu", [] { return Device::cpu(); }},
#if REMORA_REMOTE
    {"worker_cpu", [] { return Device::parse(shared_worker().device("cpu")); }},
#endif
  };
  return kVariants;
}

bool same_fingerprint(const Device& a, const Device& b) {
  return a.state().backend().info().fingerprint == b.state().backend().info().fingerprint;
}

}  // namespace remora::test
