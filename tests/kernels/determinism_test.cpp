// Results are a function of operands alone: the same bits with one thread, two or three.
#include <cstring>
#include <functional>

#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

using dispatch::AxisAttrs;
using dispatch::ConvAttrs;
using dispatch::RandomAttrs;
using dispatch::ReduceAttrs;

struct Case {
  const char* name;
  std::function<std::vector<Buffer>(CpuDevice&)> run;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

ConvAttrs gradient_of(const Shape& shape) {
  ConvAttrs attrs;
  attrs.padding = {1, 1};
  attrs.shape = shape;
  return attrs;
}

class ThreadCounts : public testing::TestWithParam<Case> {};

TEST_P(ThreadCounts, GiveTheSameBits) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    CpuDevice device({.threads = threads, .memory_limit_bytes = int64_t{1} << 30});
    std::vector<float> all;
    for (const Buffer& buffer : GetParam().run(device)) {
      const auto values = device.read<float>(buffer);
      all.insert(all.end(), values.begin(), values.end());
    }
    results.push_back(std::move(all));
  }
  for (const auto& result : results) {
    ASSERT_EQ(result.size(), results[0].size());
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, ThreadCounts,
    testing::Values(
        Case{"matmul",
             [](CpuDevice& d) {
               return d.run(OpCode::matmul, {d.random({700, 333}, 1), d.random({333, 1201}, 2)});
             }},
        Case{"batched matmul",
             [](CpuDevice& d) {
               return d.run(OpCode::matmul, {d.random({40, 33, 64}, 1), d.random({40, 64, 65}, 2)});
             }},
        Case{"conv2d",
             [](CpuDevice& d) {
               return d.run(OpCode::conv2d,
                            {d.random({32, 16, 12, 12}, 1), d.random({24, 16, 3, 3}, 2)},
                            ConvAttrs());
             }},
        Case{"matrix times vector",
             [](CpuDevice& d) {
               return d.run(OpCode::matmul, {d.random({900, 1500}, 1), d.random({1500, 1}, 2)});
             }},
        Case{"depthwise conv2d_weight_grad",
             [](CpuDevice& d) {
               ConvAttrs attrs = gradient_of({16, 1, 3, 3});
               attrs.groups = 16;
               return d.run(OpCode::conv2d_weight_grad,
                            {d.random({8, 16, 30, 30}, 1), d.random({8, 16, 30, 30}, 2)}, attrs);
             }},
        Case{"conv2d_input_grad",
             [](CpuDevice& d) {
               return d.run(OpCode::conv2d_input_grad,
                            {d.random({32, 24, 12, 12}, 1), d.random({24, 16, 3, 3}, 2)},
                            gradient_of({32, 16, 12, 12}));
             }},
        Case{"conv2d_weight_grad",
             [](CpuDevice& d) {
               return d.run(OpCode::conv2d_weight_grad,
                            {d.random({32, 24, 12, 12}, 1), d.random({32, 16, 12, 12}, 2)},
                            gradient_of({24, 16, 3, 3}));
             }},
        Case{"conv2d_weight_grad of many pixels",
             [](CpuDevice& d) {
               return d.run(OpCode::conv2d_weight_grad,
                            {d.random({3, 8, 150, 150}, 1), d.random({3, 2, 150, 150}, 2)},
                            gradient_of({8, 2, 3, 3}));
             }},
        Case{"sum of all",
             [](CpuDevice& d) {
               return d.run(OpCode::sum, {d.random({1'000'003}, 1)}, ReduceAttrs{{0}, false});
             }},
        Case{"sum of rows",
             [](CpuDevice& d) {
               return d.run(OpCode::sum, {d.random({5000, 130}, 1)}, ReduceAttrs{{0}, false});
             }},
        Case{"sum of outer and inner axes",
             [](CpuDevice& d) {
               return d.run(OpCode::sum, {d.random({50, 7, 900}, 1)}, ReduceAttrs{{0, 2}, false});
             }},
        Case{"softmax",
             [](CpuDevice& d) {
               return d.run(OpCode::softmax, {d.random({300, 411}, 1)}, AxisAttrs{1});
             }},
        Case{"softmax of columns",
             [](CpuDevice& d) {
               return d.run(OpCode::softmax, {d.random({30, 41, 101}, 1)}, AxisAttrs{1});
             }},
        Case{"normal",
             [](CpuDevice& d) {
               return d.run(OpCode::normal, {}, RandomAttrs{DType::kF32, {500'001}, 1, 2});
             }},
        Case{"cumsum of one line",
             [](CpuDevice& d) {
               return d.run(OpCode::cumsum, {d.random({1'000'003}, 1)}, AxisAttrs{0});
             }},
        Case{"cumsum of columns",
             [](CpuDevice& d) {
               return d.run(OpCode::cumsum, {d.random({40'000, 300}, 1)}, AxisAttrs{0});
             }},
        Case{"sort",
             [](CpuDevice& d) {
               return std::vector{d.run(OpCode::sort, {d.random({300, 4001}, 1)},
                                        dispatch::SortAttrs{1, true})[0]};
             }},
        Case{"scatter",
             [](CpuDevice& d) {
               const Buffer index =
                   d.run(OpCode::astype, {d.run(OpCode::abs, {d.random({3000, 40}, 1)})[0]},
                         dispatch::DTypeAttrs{DType::kI64})[0];
               return d.run(OpCode::scatter, {d.random({9, 40}, 2), index, d.random({3000, 40}, 3)},
                            AxisAttrs{0});
             }},
        Case{"svd",
             [](CpuDevice& d) {
               return d.run(OpCode::svd, {d.random({20, 70, 50}, 1)}, dispatch::FactorAttrs{});
             }},
        Case{
            "solve",
            [](CpuDevice& d) {
              return d.run(OpCode::solve, {d.random({20, 130, 130}, 1), d.random({20, 130, 3}, 2)});
            }},
        Case{"scatter_add", [](CpuDevice& d) {
               const Buffer index =
                   d.run(OpCode::astype, {d.run(OpCode::abs, {d.random({3000, 40}, 1)})[0]},
                         dispatch::DTypeAttrs{DType::kI64})[0];
               return d.run(OpCode::scatter_add,
                            {d.random({9, 40}, 2), index, d.random({3000, 40}, 3)}, AxisAttrs{0});
             }}));

TEST(Fingerprint, IsTheSameForAnyThreadCount) {
  CpuDevice one({.threads = 1, .memory_limit_bytes = 1 << 20});
  CpuDevice three({.threads = 3, .memory_limit_bytes = 1 << 20});
  EXPECT_EQ(one.backend().info().fingerprint, three.backend().info().fingerprint);
  EXPECT_NE(one.backend().info().fingerprint.find("OpenBLAS"), std::string::npos);
}

}  // namespace
}  // namespace remora::cpu
