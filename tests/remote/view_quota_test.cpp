// A view keeps all of its storage alive, so a session pays for all of it: else a client of a small
// quota could fill a worker with views of one element.
#include "client/remote/register.h"
#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

using dispatch::OpCode;
using dispatch::Value;

constexpr int64_t kElements = int64_t{1} << 18;  // 1 MiB of f32

Value one_element_of_a_megabyte(const Device& device) {
  const Value whole = dispatch::submit(
      OpCode::full, {}, dispatch::FullAttrs{DType::kF32, {kElements}, 2.0}, &device)[0];
  return dispatch::submit(OpCode::slice, {&whole, 1}, dispatch::SliceAttrs{{0}, {1}, {1}})[0];
}

TEST(ViewQuota, small_views_of_large_storages_are_refused_beyond_the_quota) {
  const TokenWorker worker({"--devices", "cpu", "--session-quota", "8MiB"});
  const Device device = worker.device();
  std::vector<Value> views;
  absl::Status refused;
  for (int i = 0; i < 20 && refused.ok(); ++i) {
    views.push_back(one_element_of_a_megabyte(device));
    refused = error_of([&] { dispatch::read(views.back()); });
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_LE(views.size(), 9u);
  // What was there before is intact, and what is let go comes back.
  EXPECT_TRUE(error_of([&] { dispatch::read(views.front()); }).ok());
  views.clear();
  device.synchronize();
  EXPECT_TRUE(error_of([&] { dispatch::read(one_element_of_a_megabyte(device)); }).ok());
}

}  // namespace
}  // namespace remora::remote
