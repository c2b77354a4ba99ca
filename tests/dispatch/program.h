// The program under test here: `cpu`, `cpu:1` and a `vulkan:0` that never is the default, all
// interpreters (tests/support/fake_backends.h), and short names for the ops the tests record.
#pragma once

#include <string>
#include <vector>

#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "gtest/gtest.h"
#include "tests/support/fake_backends.h"

namespace remora::test {

inline constexpr int kCpuDevices = 2;

InterpreterBackend& backend_of(const Device& device);

/// Sets an interpreter's hooks until it is destroyed.
class ScopedHooks {
 public:
  ScopedHooks(const Device& device, InterpreterBackend::Hooks hooks)
      : backend_(backend_of(device)) {
    backend_.set_hooks(std::move(hooks));
  }
  ~ScopedHooks() { backend_.set_hooks({}); }
  ScopedHooks(const ScopedHooks&) = delete;

 private:
  InterpreterBackend& backend_;
};

dispatch::Value floats(const Device& device, const std::vector<double>& values);
dispatch::Value integers(const Device& device, const std::vector<double>& values);
dispatch::Value op(dispatch::OpCode code, std::vector<dispatch::Value> inputs,
                   const dispatch::Attrs& attrs = dispatch::NoAttrs{});
dispatch::Value filled(const Device& device, const Shape& shape, double value);
std::vector<double> numbers(const dispatch::Value& value);

/// The error that `call` throws; OK if it throws none.
template <typename Call>
absl::Status error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

/// The status has this code and its message mentions each part.
testing::AssertionResult fails_with(const absl::Status& status, absl::StatusCode code,
                                    const std::vector<std::string>& parts);

}  // namespace remora::test
