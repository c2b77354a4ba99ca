#include "tests/dispatch/program.h"

#include "dispatch/registry.h"

namespace remora {
namespace dispatch {

void register_backends(Registry& registry) {
  const auto open = [](const DeviceIdentity& identity) -> absl::StatusOr<std::unique_ptr<Backend>> {
    if (identity.index >= test::kCpuDevices) return absl::NotFoundError("no such interpreter");
    return std::make_unique<test::InterpreterBackend>();
  };
  registry.add(BackendKind::kCpu, {.open = open, .count = [] { return test::kCpuDevices; }});
  registry.add(BackendKind::kVulkan,
               {.open = open,
                .count = [] { return 1; },
                .may_be_default = [](const DeviceIdentity&) { return false; }});
}

}  // namespace dispatch

namespace test {

using dispatch::OpCode;
using dispatch::Value;

InterpreterBackend& backend_of(const Device& device) {
  return static_cast<InterpreterBackend&>(device.state().backend());
}

namespace {

Value listed(const Device& device, DType dtype, const std::vector<double>& values) {
  reference::Array array({dtype, Shape{static_cast<int64_t>(values.size())}});
  for (size_t i = 0; i < values.size(); ++i) {
    if (array.is_real()) {
      array.reals[i] = values[i];
    } else {
      array.integers[i] = static_cast<int64_t>(values[i]);
    }
  }
  return dispatch::upload(device, reference::to_host(array));
}

}  // namespace

Value floats(const Device& device, const std::vector<double>& values) {
  return listed(device, DType::kF32, values);
}

Value integers(const Device& device, const std::vector<double>& values) {
  return listed(device, DType::kI64, values);
}

Value op(OpCode code, std::vector<Value> inputs, const dispatch::Attrs& attrs) {
  return dispatch::submit(code, inputs, attrs)[0];
}

Value filled(const Device& device, const Shape& shape, double value) {
  return dispatch::submit(OpCode::full, {}, dispatch::FullAttrs{DType::kF32, shape, value},
                          &device)[0];
}

std::vector<double> numbers(const Value& value) {
  const reference::Array array = reference::from_host(dispatch::read(value));
  std::vector<double> result;
  for (int64_t i = 0; i < array.numel(); ++i) result.push_back(array.as_real(i));
  return result;
}

testing::AssertionResult fails_with(const absl::Status& status, absl::StatusCode code,
                                    const std::vector<std::string>& parts) {
  if (status.code() != code) return testing::AssertionFailure() << "the status is " << status;
  for (const std::string& part : parts) {
    if (std::string(status.message()).find(part) == std::string::npos) {
      return testing::AssertionFailure()
             << "'" << status.message() << "' does not mention '" << part << "'";
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace test
}  // namespace remora
