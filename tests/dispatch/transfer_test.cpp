#include "dispatch/transfer.h"

#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)
using Numbers = std::vector<double>;

TEST(Transfer, to_the_same_device_is_the_value_itself) {
  const Value x = floats(Device::cpu(), {1});
  EXPECT_EQ(transfer(x, Device::cpu().autodiff()), x);
}

TEST(Transfer, to_same_backend) {
  const Value x = op(OpCode::neg, {floats(Device::cpu(), {1, 2})});
  const Value moved = transfer(x, Device::cpu(1));
  EXPECT_EQ(&moved->device(), &Device::cpu(1).state());
  EXPECT_EQ(moved->spec(), x->spec());
  EXPECT_EQ(numbers(moved), (Numbers{-1, -2}));
  EXPECT_EQ(numbers(x), (Numbers{-1, -2}));
}

TEST(Transfer, to_another_backend_goes_through_host_memory) {
  const Value x = integers(Device::cpu(), {7, 8});
  EXPECT_EQ(numbers(op(OpCode::neg, {transfer(x, Device::vulkan())})), (Numbers{-7, -8}));
}

TEST(Transfer, an_upload_of_a_dtype_that_the_device_lacks_is_refused) {
  const reference::Array array({DType::kF64, {2}});
  EXPECT_TRUE(fails_with(error_of([&] { (void)upload(Device::cpu(), reference::to_host(array)); }),
                         absl::StatusCode::kUnimplemented, {"f64", "cpu"}));
}

TEST(Transfer, transfer_refuses_unsupported_dtype) {
  const Value x = op(OpCode::neg, {integers(Device::cpu(), {7})});
  const ScopedHooks hooks(Device::vulkan(), {.lacks_dtype = DType::kI64});
  const uint64_t runs = backend_of(Device::cpu()).runs();
  EXPECT_TRUE(fails_with(error_of([&] { (void)transfer(x, Device::vulkan()); }),
                         absl::StatusCode::kUnimplemented, {"to", "i64", "vulkan:0"}));
  EXPECT_EQ(backend_of(Device::cpu()).runs(), runs) << "the window that makes x was ended";
  EXPECT_EQ(numbers(x), (Numbers{-7}));
}

TEST(Transfer, a_read_in_the_background_answers_once) {
  const Value x = op(OpCode::neg, {floats(Device::cpu(), {5})});
  absl::Notification done;
  absl::StatusOr<HostData> answer = absl::UnknownError("not answered");
  read_async(x, [&](absl::StatusOr<HostData> data) {
    answer = std::move(data);
    done.Notify();
  });
  done.WaitForNotification();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(reference::from_host(*answer).reals, (Numbers{-5}));
}

TEST(Transfer, reads_see_values_as_they_were_recorded) {
  const Device cpu = Device::cpu();
  Value x = floats(cpu, {0});
  std::vector<Value> history;
  for (int i = 0; i < 20; ++i) {
    x = op(OpCode::add, {x, filled(cpu, {1}, 1.0)});
    history.push_back(x);
  }
  for (size_t i = history.size(); i > 0; --i) {
    EXPECT_EQ(numbers(history[i - 1]), (Numbers{static_cast<double>(i)}));
  }
}

TEST(Transfer, concurrent_transfers_do_not_deadlock) {
  const Device devices[] = {Device::cpu(0), Device::cpu(1), Device::vulkan(0)};
  std::vector<std::thread> threads;
  for (size_t start = 0; start < 3; ++start) {
    threads.emplace_back([&devices, start] {
      Value x = floats(devices[start], {static_cast<double>(start)});
      for (size_t hop = 1; hop <= 60; ++hop) {
        x = op(OpCode::add, {transfer(x, devices[(start + hop) % 3]),
                             filled(devices[(start + hop) % 3], {1}, 1.0)});
        if (hop % 20 == 0) {
          EXPECT_EQ(numbers(x), (Numbers{static_cast<double>(start + hop)}));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace remora::test
