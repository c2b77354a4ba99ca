// What the tests of remote devices share: a worker with a token that this program knows, and the
// error a call throws.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/remote/options.h"
#include "client/remote/worker_connection.h"
#include "dispatch/device.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "gtest/gtest.h"
#include "tests/support/worker_process.h"

namespace remora::remote {

inline constexpr const char* kToken = "a-token-of-the-tests-0123456789";

/// A worker of the test's own, with a token; its clients in this process know it.
class TokenWorker {
 public:
  explicit TokenWorker(std::vector<std::string> flags = {"--devices", "cpu"}, bool tcp = false)
      : process_({.flags = std::move(flags), .tcp = tcp, .token = kToken}) {
    // A port may have been another test's worker's, whose session would still answer that it died.
    disconnect(process_.address());
    RemoteOptions options;
    options.token = kToken;
    set_remote_options(process_.address(), options);
  }

  test::WorkerProcess& process() { return process_; }
  const std::string& address() const { return process_.address(); }
  Device device(const std::string& inner = "cpu") const { return Device::remote(address(), inner); }

 private:
  test::WorkerProcess process_;
};

/// What `call` throws; OK if it throws nothing.
inline absl::Status error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

inline dispatch::WireStats wire_stats(const Device& device) { return device.state().stats().wire; }

/// `count` floats that differ from each other.
inline std::vector<float> ramp(size_t count, float first = 1.0f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + 0.001f * static_cast<float>(i);
  return values;
}

}  // namespace remora::remote
