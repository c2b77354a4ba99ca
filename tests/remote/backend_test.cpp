#include "client/remote/backend.h"

#include <mutex>
#include <stdexcept>
#include <thread>

#include "client/ops.h"
#include "client/remote/op_error.h"
#include "client/tensor.h"
#include "gmock/gmock.h"
#include "tests/remote/remote_fixture.h"

namespace remora::remote {
namespace {

constexpr size_t kInlineFloats = wire::kMaxInlineBytes / sizeof(float);

/// A little of everything a window can hold, from host data to a reduction.
Tensor computation(const Device& device) {
  const Tensor a = from_data(ramp(600), {20, 30}, device);
  const Tensor b = from_data(ramp(600, -3.0f), {30, 20}, device);
  const Tensor product = matmul(a, b);
  const Tensor squashed = tanh(product * 0.01) + exp(-abs(product)) / (1.0 + a.slice(1, 0, 20));
  return sum(where(squashed > 0.5, squashed, sqrt(abs(squashed))), 1);
}

TEST(RemoteBackend, arithmetic_gives_the_bits_of_the_local_device) {
  TokenWorker worker;
  const Device remote = worker.device();
  const Device local = Device::cpu();
  ASSERT_EQ(remote.state().backend().info().fingerprint,
            local.state().backend().info().fingerprint);
  EXPECT_EQ(computation(remote).to_vector<float>(), computation(local).to_vector<float>());
}

TEST(RemoteBackend, reads_return_what_was_uploaded_inline_and_streamed) {
  for (const bool tcp : {true, false}) {
    TokenWorker worker({"--devices", "cpu"}, tcp);
    // Up to the inline limit, just over it, one chunk exactly, and several chunks with a rest.
    for (const size_t count :
         {size_t{0}, size_t{1}, kInlineFloats, kInlineFloats + 1, wire::kChunkBytes / sizeof(float),
          3 * wire::kChunkBytes / sizeof(float) + 7}) {
      const std::vector<float> values = ramp(count);
      const Tensor tensor = from_data(values, {static_cast<int64_t>(count)}, worker.device());
      EXPECT_EQ(tensor.to_vector<float>(), values) << count << " floats, tcp " << tcp;
      EXPECT_EQ((tensor + 1.0).to_vector<float>().size(), count);
    }
  }
}

TEST(RemoteBackend, many_large_uploads_at_once_all_arrive) {
  TokenWorker worker;
  const size_t count = 2 * kInlineFloats;
  std::vector<Tensor> tensors;
  tensors.reserve(100);
  for (int i = 0; i < 100; ++i) {
    tensors.push_back(from_data(ramp(count, static_cast<float>(i)), {static_cast<int64_t>(count)},
                                worker.device()));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(tensors[static_cast<size_t>(i)].to_vector<float>(),
              ramp(count, static_cast<float>(i)))
        << i;
  }
}

TEST(RemoteBackend, any_number_of_large_reads_may_be_asked_for_at_once) {
  // Beyond what a worker keeps for one session, those that come later wait.
  TokenWorker worker;
  constexpr size_t kReads = wire::kMaxOpenReads + 500;
  const int64_t count = static_cast<int64_t>(wire::kMaxInlineBytes) + 1;
  const Tensor large = full({count}, true, worker.device(), DType::kBool);
  std::vector<ReadFuture> reads;
  for (size_t i = 0; i < kReads; ++i) reads.push_back(large.read_async());
  for (const ReadFuture& read : reads) ASSERT_EQ(read.get().spec.numel(), count);
}

TEST(RemoteBackend, dropped_tensors_free_the_workers_memory) {
  // 100 tensors of 1 MiB through a quota of 16 MiB: uploads, results and intermediate values all
  // have to go.
  TokenWorker worker({"--devices", "cpu", "--session-quota", "16MiB"});
  const int64_t count = (1 << 20) / 4;
  for (int i = 0; i < 100; ++i) {
    const Tensor tensor = from_data(ramp(static_cast<size_t>(count)), {count}, worker.device());
    const Tensor result = (tensor + 1.0) * 2.0;
    ASSERT_EQ(result.to_vector<float>()[0], 4.0f) << "round " << i;
  }
  EXPECT_EQ(worker.device().state().backend().memory().live_bytes, 0);
}

TEST(RemoteBackend, inputs_dropped_before_the_window_ends_are_consumed) {
  TokenWorker worker;
  const Device device = worker.device();
  Tensor x = from_data(ramp(8), {8}, device);
  device.flush();
  const int64_t before = device.state().backend().memory().live_bytes;
  for (int step = 0; step < 50; ++step) {
    x = x + 1.0;
    device.flush();
  }
  device.synchronize();
  // Each run took its input along, so nothing but the last result is left and no drop travels.
  EXPECT_EQ(device.state().backend().memory().live_bytes, 32);
  EXPECT_LE(before, 32);
  EXPECT_EQ(x.to_vector<float>()[0], 51.0f);
}

TEST(RemoteBackend, a_tensor_beyond_the_quota_fails_alone) {
  TokenWorker worker({"--devices", "cpu", "--session-quota", "1MiB"});
  const Tensor small = from_data({1.0f, 2.0f}, {2}, worker.device());
  const Tensor large = zeros({1 << 20}, worker.device());
  const absl::Status error = error_of([&] { (void)(large + 1.0).to_vector<float>(); });
  EXPECT_EQ(error.code(), absl::StatusCode::kResourceExhausted) << error;
  EXPECT_EQ((small + small).to_vector<float>(), (std::vector<float>{2.0f, 4.0f}));
}

TEST(RemoteBackend, an_index_out_of_range_poisons_only_its_dependents_and_is_reported) {
  TokenWorker worker;
  std::mutex mutex;
  std::vector<RemoteOpError> errors;
  set_error_callback([&](const RemoteOpError& error) {
    const std::lock_guard<std::mutex> lock(mutex);
    errors.push_back(error);
  });
  const Tensor x = from_data(ramp(4), {4}, worker.device());
  const Tensor index = from_data({0, 9}, {2}, worker.device());
  const Tensor bad = gather(x, 0, index);
  const Tensor good = x * 2.0;
  EXPECT_EQ(good.to_vector<float>()[1], 2.0f * ramp(4)[1]);
  const absl::Status error = error_of([&] { (void)(bad + 1.0).to_vector<float>(); });
  set_error_callback({});
  EXPECT_FALSE(error.ok());
  EXPECT_NE(error.message().find("gather"), std::string::npos) << error;
  EXPECT_NE(error.message().find(worker.address()), std::string::npos) << error;
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].op, "gather");
  EXPECT_EQ(errors[0].worker, worker.address());
}

TEST(RemoteBackend, errors_of_runs_name_the_function_as_a_local_device_does) {
  TokenWorker worker;
  const auto message_on = [](const Device& device) {
    const Tensor x = from_data(ramp(4), {4}, device);
    const Tensor bad = take(x, from_data({0, 9}, {2}, device));
    return std::string(error_of([&] { (void)sum(bad * 2.0).item<float>(); }).message());
  };
  const std::string local = message_on(Device::cpu());
  EXPECT_TRUE(local.starts_with("take: gather: index 9")) << local;
  EXPECT_EQ(message_on(worker.device()), "worker " + worker.address() + ": " + local);
  // A plan that comes again under other names: the names are those of the window that failed.
  const auto select = [&](const Device& device, auto function) {
    const Tensor table = from_data(ramp(8), {4, 2}, device);
    std::string message;
    for (int step = 0; step < 4; ++step) {
      const Tensor index = from_data({0, step == 3 ? 9 : 1}, {2}, device);
      const Tensor result = function(table, index);
      message = std::string(error_of([&] { (void)result.to_vector<float>(); }).message());
    }
    return message;
  };
  const auto rows = [](const Tensor& x, const Tensor& i) { return embedding(x, i); };
  const auto slices = [](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); };
  for (const Device& device : {Device::cpu(), worker.device()}) {
    EXPECT_THAT(select(device, slices), testing::HasSubstr("index_select: "));
    EXPECT_THAT(select(device, rows), testing::HasSubstr("embedding: "));
  }
}

TEST(RemoteBackend, an_error_callback_that_throws_is_named_and_harms_nothing) {
  TokenWorker worker;
  set_error_callback([](const RemoteOpError&) { throw std::runtime_error("thrown on purpose"); });
  testing::internal::CaptureStderr();
  const Tensor x = from_data(ramp(4), {4}, worker.device());
  const Tensor bad = gather(x, 0, from_data({0, 9}, {2}, worker.device()));
  EXPECT_FALSE(error_of([&] { (void)bad.to_vector<float>(); }).ok());
  EXPECT_EQ((x * 2.0).to_vector<float>()[1], 2.0f * ramp(4)[1]);
  set_error_callback({});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("the error callback threw: thrown on purpose"));
}

TEST(RemoteBackend, two_threads_share_a_session_and_get_their_own_results) {
  TokenWorker worker;
  const Device device = worker.device();
  const Tensor shared = from_data(ramp(64), {64}, device);
  std::vector<std::vector<float>> results(2);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Tensor x = shared * static_cast<double>(t + 1);
      for (int step = 0; step < 200; ++step) {
        x = x + shared;
        if (step % 20 == 0) (void)x.to_vector<float>();
      }
      results[t] = x.to_vector<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < 2; ++t) {
    Tensor x = from_data(ramp(64), {64}, Device::cpu()) * static_cast<double>(t + 1);
    const Tensor local = from_data(ramp(64), {64}, Device::cpu());
    for (int step = 0; step < 200; ++step) x = x + local;
    EXPECT_EQ(results[t], x.to_vector<float>());
  }
}

TEST(RemoteBackend, to_within_worker_moves_no_client_bytes) {
  TokenWorker worker({"--devices", "cpu,cpu"});
  const Device first = worker.device("cpu:0");
  const Device second = worker.device("cpu:1");
  const int64_t count = 1 << 20;
  const Tensor x = full({count}, 3.0, first);
  const Tensor y = from_data({5.0f}, {1}, second);
  (void)y.to_vector<float>();
  first.synchronize();
  const dispatch::WireStats before = wire_stats(second);
  const Tensor moved = x.to(second);
  EXPECT_EQ((moved.slice(0, 0, 1) + y).to_vector<float>(), (std::vector<float>{8.0f}));
  const dispatch::WireStats after = wire_stats(second);
  EXPECT_LT(after.bytes_sent + after.bytes_received - before.bytes_sent - before.bytes_received,
            1024u);
  EXPECT_EQ(wire_stats(first).frames_sent, after.frames_sent);
  // And a value that has not left this program yet is announced on its own device first.
  EXPECT_EQ(from_data({7.0f}, {1}, first).to(second).to_vector<float>(),
            (std::vector<float>{7.0f}));
}

TEST(RemoteBackend, transfers_between_workers_go_through_the_program) {
  TokenWorker a;
  TokenWorker b;
  for (const size_t count : {size_t{10}, 4 * kInlineFloats}) {
    const Tensor x = from_data(ramp(count), {static_cast<int64_t>(count)}, a.device()) + 1.0;
    EXPECT_EQ(x.to(b.device()).to_vector<float>(), x.to_vector<float>());
  }
}

TEST(RemoteBackend, an_unknown_device_of_the_worker_names_those_it_has) {
  TokenWorker worker({"--devices", "cpu,cpu"});
  const absl::Status error = error_of([&] { (void)worker.device("cpu:7").state(); });
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(error.message().find("cpu:0, cpu:1"), std::string::npos) << error;
}

}  // namespace
}  // namespace remora::remote
