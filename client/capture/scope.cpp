#include "client/capture/scope.h"

#include <vector>

#include "dispatch/capture.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::capture {

Scope::Scope(const Device& device) : device_(device) { dispatch::capture_recorder(device).begin(); }

Scope::~Scope() {
  if (open_) dispatch::capture_recorder(device_).end();
}

void Scope::check_open(std::string_view action) const {
  if (open_) return;
  throw Error(absl::FailedPreconditionError(
      str_cat(action, ": the capture scope on ", device_.str(), " is complete")));
}

Tensor Scope::input(const Spec& spec) {
  check_open("input");
  return Tensor(dispatch::capture_recorder(device_).declare(spec));
}

CapturedGraph Scope::complete(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  check_open("complete");
  const auto values_of = [](std::span<const Tensor> tensors) {
    std::vector<dispatch::Value> values;
    for (const Tensor& tensor : tensors) values.push_back(tensor.value());
    return values;
  };
  CapturedGraph graph(
      dispatch::capture_recorder(device_).complete(values_of(inputs), values_of(outputs)));
  open_ = false;
  return graph;
}

}  // namespace remora::capture
