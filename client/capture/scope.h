// capture::Scope: while one is open on a capture device, the ops on that device's tensors are kept
// as a graph instead of being run.
//
//     const Device recorder = Device::capture();
//     model.to(recorder);
//     capture::Scope scope(recorder);
//     Tensor images = scope.input({DType::kF32, {1, 1, 8, 8}});
//     Tensor logits = model(images);
//     capture::CapturedGraph graph = scope.complete({images}, {logits});
//
// Tensors of host data and those moved there from other devices become initializers: the graph
// holds their elements. They belong to the device and may serve several scopes; what was declared
// or computed in a scope records no more once it is closed. Ops on it throw FAILED_PRECONDITION
// then, as do reads at any time: nothing has been computed. One scope at a time per device; those
// of different devices are independent. Any thread may record.
#pragma once

#include <initializer_list>
#include <span>

#include "client/capture/captured_graph.h"
#include "client/tensor.h"

namespace remora::capture {

class Scope {
 public:
  /// INVALID_ARGUMENT if `device` is no capture device, FAILED_PRECONDITION if it has a scope.
  explicit Scope(const Device& device);
  /// Closes the scope, however it is left.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// A tensor that each run of the graph brings. FAILED_PRECONDITION once the scope is closed.
  Tensor input(const Spec& spec);

  /// The graph from `inputs` to `outputs`, with the ops that the outputs need and every draw;
  /// closes the scope. Waits for elements that are still on their way from other devices.
  /// INVALID_ARGUMENT, naming the tensor's place, for one that this scope does not know, one that
  /// comes twice, an input that was not declared or that the graph computes, a declared input that
  /// the outputs need and that is not listed, no output; then the scope stays open.
  /// FAILED_PRECONDITION once it is closed.
  CapturedGraph complete(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  CapturedGraph complete(std::initializer_list<Tensor> inputs,
                         std::initializer_list<Tensor> outputs) {
    return complete(std::span(inputs.begin(), inputs.size()),
                    std::span(outputs.begin(), outputs.size()));
  }

 private:
  void check_open(std::string_view action) const;

  const Device device_;
  bool open_ = true;
};

}  // namespace remora::capture
