#include <sstream>

#include "dispatch/device_state.h"
#include "tests/client/device.h"

namespace remora {
namespace {

std::string printed(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

/// What follows the elements where the tests run on another device than the CPU.
std::string place() {
  const Device device = test_device();
  return device.kind() == BackendKind::kCpu ? "" : ", device=" + device.str();
}

TEST(printing, looks_like_pytorch) {
  EXPECT_EQ(printed(floats({1, 2, 3, 4}, {2, 2})),
            "tensor([[1., 2.],\n        [3., 4.]]" + place() + ")");
  EXPECT_EQ(printed(floats({1, -2.5F}, {2})), "tensor([ 1.0000, -2.5000]" + place() + ")");
  EXPECT_EQ(printed(integers({1, -20}, {2})), "tensor([  1, -20]" + place() + ")");
  EXPECT_EQ(printed(booleans({true, false}, {2})), "tensor([ true, false]" + place() + ")");
  EXPECT_EQ(printed(floats({3}, {})), "tensor(3." + place() + ")");
  EXPECT_EQ(printed(floats({1e-8F, 1}, {2})), "tensor([1.0000e-08, 1.0000e+00]" + place() + ")");
  EXPECT_EQ(printed(floats({NAN, INFINITY}, {2})), "tensor([nan, inf]" + place() + ")");
}

TEST(printing, empty_and_undefined_tensors) {
  EXPECT_EQ(printed(floats({}, {0})), "tensor([], dtype=f32" + place() + ")");
  EXPECT_EQ(printed(floats({}, {2, 0})),
            "tensor([[],\n        []], size=[2, 0], dtype=f32" + place() + ")");
  EXPECT_EQ(printed(Tensor()), "tensor(undefined)");
}

TEST(printing, long_tensors_show_their_ends) {
  const std::string text = printed(arange(0, 2000, 1, test_device()));
  EXPECT_EQ(text, "tensor([   0,    1,    2, ..., 1997, 1998, 1999]" + place() + ")");
}

TEST(printing, lines_wrap) {
  EXPECT_NE(printed(arange(0, 100, 1, test_device())).find(",\n        "), std::string::npos);
}

TEST(printing, says_when_a_tensor_is_tracked) {
  EXPECT_EQ(printed(leaf({1}, {1})), "tensor([1.]" + place() + ", requires_grad=true)");
}

TEST(printing, reads_once) {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  x.to_vector<float>();
  const uint64_t windows = test_device().state().stats().windows;
  const uint64_t round_trips = test_device().state().stats().wire.round_trips;
  printed(x);
  const auto after = test_device().state().stats();
  EXPECT_EQ(after.windows, windows);
  EXPECT_LE(after.wire.round_trips - round_trips, 1U);
}

}  // namespace
}  // namespace remora
