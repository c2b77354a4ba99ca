// CapturedGraph: ops and weights to keep. It runs on any device, goes to a file and back, and
// prints.
//
//     capture::CapturedGraph graph = capture::CapturedGraph::load("digits.graph");
//     Tensor logits = graph.run({images}, Device::parse("remote://gpu-box:7070"))[0];
//
// A small value: copies share the graph and the weights that devices hold. Any thread may call any
// function.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/tensor.h"
#include "dispatch/captured_program.h"

namespace remora::capture {

class CapturedGraph {
 public:
  explicit CapturedGraph(dispatch::CapturedProgram program);

  /// The outputs on `device`, for inputs of the Specs that were declared; inputs elsewhere are
  /// moved there. Same bits as the recorded calls give there. Draws (dropout, normal) are made anew
  /// by each run from the generator of `device`, as the recorded calls would. Does not wait, and
  /// sends a worker nothing by itself: the run goes with the read that follows, or with
  /// `device.flush()`, as one message. The first run on a device takes the initializers there,
  /// where they stay.
  ///
  /// On a capture device the ops become part of its open scope.
  ///
  /// Throws INVALID_ARGUMENT naming an input that does not fit, FAILED_PRECONDITION for a tracked
  /// one (outside no_grad: a captured graph has no gradients), UNIMPLEMENTED naming an op that the
  /// device lacks; then nothing ran.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Device& device) const;
  std::vector<Tensor> run(std::initializer_list<Tensor> inputs, const Device& device) const {
    return run(std::span(inputs.begin(), inputs.size()), device);
  }
  /// Lets go of the initializers on `device`; the next run there takes them again. For memory, and
  /// after a worker was lost.
  void unload(const Device& device) const;

  const std::vector<Spec>& inputs() const { return program().inputs; }
  /// The Specs of the outputs.
  std::vector<Spec> outputs() const;
  /// Host data that the graph holds, in order of first use.
  const std::vector<dispatch::HostData>& initializers() const { return program().initializers; }
  /// Ops in the order of recording; null where nothing is computed.
  const dispatch::GraphPtr& graph() const { return program().graph; }
  const dispatch::CapturedProgram& program() const;

  /// One line for each input, initializer, op and output:
  /// "%4 = matmul(in0, w1) : f32[1, 10]"; attributes follow the operands.
  std::string str() const;
  /// The graph in Graphviz's language: `dot -Tsvg`.
  std::string dot() const;

  /// Writes a file whole or not at all (docs/capture.md has the format). Errors are those of
  /// io::save.
  void save(const std::filesystem::path& path) const;
  /// Reads what `save` wrote; the file is not trusted (client/io/captured_file.h).
  static CapturedGraph load(const std::filesystem::path& path);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

std::ostream& operator<<(std::ostream& out, const CapturedGraph& graph);

}  // namespace remora::capture
