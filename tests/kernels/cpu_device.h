// A CPU device for tests of its kernels: ops run one at a time or as a graph, without the dispatch
// above them.
#pragma once

#include <memory>
#include <random>
#include <span>
#include <vector>

#include "dispatch/backend.h"
#include "gtest/gtest.h"
#include "kernels/cpu/register.h"

namespace remora::cpu {

using dispatch::Attrs;
using dispatch::Buffer;
using dispatch::OpCode;

class CpuDevice {
 public:
  explicit CpuDevice(CpuOptions options = {.threads = 1, .memory_limit_bytes = int64_t{4} << 30}) {
    auto opened = open_cpu(0, options);
    if (!opened.ok()) throw std::runtime_error(std::string(opened.status().message()));
    backend_ = *std::move(opened);
  }
  dispatch::Backend& backend() { return *backend_; }
  int64_t live_bytes() { return backend_->memory().live_bytes; }

  template <typename T>
  Buffer upload(const Shape& shape, const std::vector<T>& values,
                DType dtype = DTypeOf<T>::kValue) {
    const Spec spec{dtype, shape};
    EXPECT_EQ(static_cast<int64_t>(values.size()), spec.numel());
    return *backend_->upload({},
                             dispatch::HostData::copy_of(spec, std::as_bytes(std::span(values))));
  }
  Buffer upload_bools(const Shape& shape, const std::vector<uint8_t>& values) {
    return upload(shape, values, DType::kBool);
  }
  /// Normal values that depend on `seed` alone.
  Buffer random(const Shape& shape, uint64_t seed) {
    return run(OpCode::normal, {}, dispatch::RandomAttrs{DType::kF32, shape, seed, 0})[0];
  }
  template <typename T>
  std::vector<T> read(const Buffer& buffer) {
    std::vector<T> values(static_cast<size_t>(buffer.spec.numel()));
    backend_->download(buffer, [&](absl::StatusOr<dispatch::HostData> data) {
      ASSERT_TRUE(data.ok()) << data.status();
      EXPECT_EQ(data->span().size(), values.size() * sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), data->span().data(), data->span().size());
    });
    return values;
  }

  /// Runs one op and returns everything the backend says.
  dispatch::RunResult try_run(OpCode code, const std::vector<Buffer>& inputs, const Attrs& attrs) {
    dispatch::GraphBuilder builder;
    std::vector<dispatch::Position> positions;
    std::vector<Spec> specs;
    for (const Buffer& input : inputs) {
      positions.push_back(dispatch::Position::external(builder.add_input(input.spec)));
      specs.push_back(input.spec);
    }
    const dispatch::OpInfo& info = dispatch::op_info(code);
    auto outputs = dispatch::infer(info, specs, attrs);
    if (!outputs.ok()) return {outputs.status(), {}, {}};
    builder.add_op(info, positions, attrs, *outputs);
    std::vector<uint64_t> params;
    const dispatch::GraphPtr graph = builder.finish(params);
    auto plan = backend_->prepare(graph, dispatch::LiveSet(graph->outputs.size(), true));
    if (!plan.ok()) return {plan.status(), {}, {}};
    const std::vector<bool> consumed(inputs.size(), false);
    return backend_->run(**plan, {inputs, params, consumed, 1, false});
  }
  /// The outputs of an op that must succeed.
  std::vector<Buffer> run(OpCode code, const std::vector<Buffer>& inputs,
                          const Attrs& attrs = dispatch::NoAttrs{}) {
    dispatch::RunResult result = try_run(code, inputs, attrs);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_TRUE(result.failures.empty()) << result.failures.front().status;
    return std::move(result.outputs);
  }

 private:
  std::unique_ptr<dispatch::Backend> backend_;
};

}  // namespace remora::cpu
