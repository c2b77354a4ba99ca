// An op never changes a tensor that somebody still needs, however its memory is reused.
#include <numeric>

#include "tests/client/device.h"
#include "tests/support/device_variants.h"

namespace remora {
namespace {

class Reuse : public test::OnEveryDevice {};

TEST_P(Reuse, reuse_respects_views_parked_ops_and_pending_reads) {
  constexpr int64_t kCount = 1 << 18;  // 1 MiB: an upload of its own on a worker
  std::vector<float> ramp(kCount);
  std::iota(ramp.begin(), ramp.end(), 0.0F);
  const auto times = [&](float factor, float offset) {
    std::vector<float> expected(ramp);
    for (float& value : expected) value = value * factor + offset;
    return expected;
  };
  for (int round = 0; round < 3; ++round) {  // the third replays a plan
    Tensor x = from_data(ramp, {kCount}, device()) * 2;
    const Tensor view = flip(x.slice(0, kCount / 2, kCount), 0);
    const ReadFuture pending = x.read_async();
    // On a worker this op is parked until the bytes of its first operand have come.
    const Tensor parked = from_data(ramp, {kCount}, device()) + x;
    x = x + 1;
    x = x * 3;
    device().flush();
    x = x - 3;
    EXPECT_EQ(x.to_vector<float>(), times(6, 0));
    EXPECT_EQ(parked.to_vector<float>(), times(3, 0));
    EXPECT_EQ(pending.to_vector<float>(), times(2, 0));
    const std::vector<float> seen = view.to_vector<float>();
    EXPECT_EQ(seen.front(), 2.0F * static_cast<float>(kCount - 1));
    EXPECT_EQ(seen.back(), static_cast<float>(kCount));
  }
}

REMORA_ON_EVERY_DEVICE(Reuse);

}  // namespace
}  // namespace remora
