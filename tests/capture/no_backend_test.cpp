// A build with no backend that executes: preset `capture-only`.
#include "client/capture/scope.h"
#include "client/ops.h"
#include "dispatch/error.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace remora::capture {
namespace {

#if !REMORA_CPU && !REMORA_REMOTE

TEST(NoBackend, no_backend_built) {
  try {
    (void)Device::default_device();
    ADD_FAILURE() << "there is a default device";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_NE(error.status().message().find("REMORA_CPU"), absl::string_view::npos) << error.what();
  }
  const Device recorder = Device::capture();
  Scope scope(recorder);
  const Tensor x = scope.input({DType::kF32, {2}});
  const CapturedGraph graph = scope.complete({x}, {x + from_data({1.0f, 2.0f}, {2}, recorder)});
  const test::TemporaryFolder folder;
  graph.save(folder / "graph");
  EXPECT_EQ(CapturedGraph::load(folder / "graph").str(), graph.str());
  EXPECT_THROW((void)graph.run({x}, Device::cpu()), Error);
}

#endif

}  // namespace
}  // namespace remora::capture
