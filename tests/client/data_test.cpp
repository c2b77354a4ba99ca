#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "tests/client/device.h"

namespace remora {
namespace {

using data::DataLoader;
using data::TensorDataset;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// A file that is gone after the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("remora-data-test-" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string gzipped(const TemporaryFile& place, const std::string& text) {
  gzFile file = gzopen(place.path().c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(place.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(csv, reads_plain_and_gzipped_tables) {
  const TemporaryFile plain("1,2.5,-3\r\n\n4, 5 ,6e1");
  const data::CsvTable table = data::read_csv(plain.path());
  EXPECT_EQ(table.rows, 2U);
  EXPECT_EQ(table.columns, 3U);
  EXPECT_EQ(table.values, (std::vector<float>{1, 2.5F, -3, 4, 5, 60}));
  gzipped(plain, "7,8\n9,10\n");
  EXPECT_EQ(data::read_csv(plain.path()).values, (std::vector<float>{7, 8, 9, 10}));
}

TEST(csv, an_empty_file_is_an_empty_table) {
  EXPECT_EQ(data::read_csv(TemporaryFile("").path()).rows, 0U);
}

TEST(csv, hostile_files_are_refused_with_place_and_value) {
  expect_error(absl::StatusCode::kNotFound, "cannot be opened",
               [] { data::read_csv("/nowhere/x.csv"); });
  expect_error(kInvalid, "line 2: 'x' is not a number",
               [] { data::read_csv(TemporaryFile("1\nx").path()); });
  expect_error(kInvalid, "line 1: '' is not a number",
               [] { data::read_csv(TemporaryFile("1,,2").path()); });
  expect_error(kInvalid, "line 3: 1 values where the first line has 2",
               [] { data::read_csv(TemporaryFile("1,2\n3,4\n5").path()); });
  const std::string nonsense(100, 'y');
  expect_error(kInvalid, "y...' is not a number",
               [&] { data::read_csv(TemporaryFile(nonsense).path()); });
  expect_error(absl::StatusCode::kResourceExhausted, "more than", [] {
    std::string wide = "1";
    for (int i = 0; i < 70'000; ++i) wide += ",1";
    data::read_csv(TemporaryFile(wide).path());
  });
}

TEST(csv, a_broken_gzip_stream_is_data_loss) {
  const TemporaryFile file("");
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  std::string bytes = gzipped(file, text);
  std::ofstream(file.path(), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  expect_error(absl::StatusCode::kDataLoss, "broken", [&] { data::read_csv(file.path()); });
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  std::ofstream(file.path(), std::ios::binary) << bytes;
  EXPECT_THROW(data::read_csv(file.path()), Error);
}

TensorDataset numbered(int64_t count) {
  std::vector<float> inputs;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    inputs.push_back(static_cast<float>(i));
    inputs.push_back(static_cast<float>(-i));
    labels.push_back(i);
  }
  return TensorDataset(inputs, {2}, labels);
}

TEST(data_loader, batches_hold_every_example_once) {
  const TensorDataset dataset = numbered(10);
  DataLoader loader(dataset, {.batch_size = 4, .shuffle = true, .seed = 5}, test_device());
  EXPECT_EQ(loader.batches(), 3);
  std::vector<int64_t> seen;
  for (const auto& [inputs, labels] : loader) {
    EXPECT_EQ(inputs.shape(), (Shape{labels.size(0), 2}));
    const auto values = inputs.to_vector<float>();
    const auto classes = labels.to_vector<int64_t>();
    for (size_t i = 0; i < classes.size(); ++i) {
      EXPECT_EQ(values[2 * i], static_cast<float>(classes[i]));
      EXPECT_EQ(values[2 * i + 1], static_cast<float>(-classes[i]));
      seen.push_back(classes[i]);
    }
  }
  std::sort(seen.begin(), seen.end());
  std::vector<int64_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(data_loader, the_seed_alone_decides_the_order_and_epochs_differ) {
  const TensorDataset dataset = numbered(32);
  const auto epochs = [&](uint64_t seed) {
    DataLoader loader(dataset, {.batch_size = 32, .shuffle = true, .seed = seed}, test_device());
    std::vector<std::vector<int64_t>> orders;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const auto& [inputs, labels] : loader) orders.push_back(labels.to_vector<int64_t>());
    }
    return orders;
  };
  EXPECT_EQ(epochs(1), epochs(1));
  EXPECT_NE(epochs(1)[0], epochs(1)[1]);
  EXPECT_NE(epochs(1)[0], epochs(2)[0]);
}

TEST(data_loader, the_last_batch_may_be_dropped_and_order_kept) {
  const TensorDataset dataset = numbered(5);
  DataLoader loader(dataset, {.batch_size = 2, .drop_last = true}, test_device());
  std::vector<int64_t> seen;
  for (const auto& [inputs, labels] : loader) {
    for (const int64_t label : labels.to_vector<int64_t>()) seen.push_back(label);
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(data_loader, batches_join_the_devices_context) {
  const TensorDataset dataset = numbered(2);
  DataLoader loader(dataset, {}, tracked_device());
  for (const auto& [inputs, labels] : loader) {
    EXPECT_TRUE(inputs.context().enabled);
    EXPECT_TRUE(labels.context().enabled);
  }
}

std::vector<int64_t> labels_of(DataLoader& loader) {
  std::vector<int64_t> seen;
  for (const auto& [inputs, labels] : loader) {
    for (const int64_t label : labels.to_vector<int64_t>()) seen.push_back(label);
  }
  return seen;
}

TEST(data_loader, reading_ahead_gives_the_same_batches) {
  const TensorDataset dataset = numbered(23);
  for (const int64_t prefetch : {1, 3, 100}) {
    DataLoader plain(dataset, {.batch_size = 4, .shuffle = true, .seed = 6}, test_device());
    DataLoader ahead(dataset, {.batch_size = 4, .shuffle = true, .seed = 6, .prefetch = prefetch},
                     test_device());
    for (int epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(labels_of(ahead), labels_of(plain));
  }
}

/// Counts how far it was read, and throws at one example.
class WatchedDataset : public data::Dataset {
 public:
  explicit WatchedDataset(int64_t size, int64_t broken = -1) : size_(size), broken_(broken) {}
  int64_t size() const override { return size_; }
  Spec input_spec() const override { return {DType::kI64, {}}; }
  Spec label_spec() const override { return {DType::kI64, {}}; }
  void read(int64_t index, std::span<std::byte> input, std::span<std::byte> label) const override {
    if (index == broken_) throw std::runtime_error("example 7 is broken");
    std::memcpy(input.data(), &index, sizeof(index));
    std::memcpy(label.data(), &index, sizeof(index));
    read_.fetch_add(1);
  }
  int64_t examples_read() const { return read_.load(); }

 private:
  const int64_t size_;
  const int64_t broken_;
  mutable std::atomic<int64_t> read_{0};
};

TEST(data_loader, what_a_data_set_throws_reaches_whoever_asks_for_the_batch) {
  for (const int64_t prefetch : {0, 2}) {
    const WatchedDataset dataset(20, 7);
    DataLoader loader(dataset, {.batch_size = 3, .prefetch = prefetch}, test_device());
    auto batch = loader.begin();
    EXPECT_EQ((*batch).labels.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
    ++batch;
    EXPECT_EQ((*batch).labels.to_vector<int64_t>(), (std::vector<int64_t>{3, 4, 5}));
    ++batch;
    for (int i = 0; i < 2; ++i) {
      try {
        *batch;
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "example 7 is broken");
      }
    }
  }
}

TEST(data_loader, a_loop_that_is_left_stops_the_thread_within_its_bound) {
  const WatchedDataset dataset(1'000'000);
  {
    DataLoader loader(dataset, {.batch_size = 10, .prefetch = 4}, test_device());
    for (const auto& [inputs, labels] : loader) {
      EXPECT_EQ(labels.size(0), 10);
      break;
    }
  }  // the thread has ended: it is joined
  // The batch that was taken, four in the queue, and one that the thread was about to put there.
  EXPECT_LE(dataset.examples_read(), 60);
}

TEST(data_loader, batches_that_nobody_looks_at_are_passed_over) {
  for (const int64_t prefetch : {0, 2}) {
    const WatchedDataset dataset(6);
    DataLoader loader(dataset, {.batch_size = 2, .prefetch = prefetch}, test_device());
    auto batch = loader.begin();
    ++batch;
    EXPECT_EQ((*batch).labels.to_vector<int64_t>(), (std::vector<int64_t>{2, 3}));
    ++batch;
    ++batch;
    EXPECT_TRUE(batch == loader.end());
  }
}

TEST(data_loader, an_empty_data_set_has_no_batches) {
  for (const int64_t prefetch : {0, 2}) {
    const WatchedDataset dataset(0);
    DataLoader loader(dataset, {.batch_size = 2, .prefetch = prefetch}, test_device());
    EXPECT_TRUE(loader.begin() == loader.end());
  }
}

TEST(data_loader, sizes_are_checked) {
  expect_error(kInvalid, "TensorDataset", [] { TensorDataset({1, 2, 3}, {2}, {0, 1}); });
  const TensorDataset dataset = numbered(2);
  expect_error(kInvalid, "batch_size is 0",
               [&] { DataLoader(dataset, {.batch_size = 0}, test_device()); });
  expect_error(kInvalid, "prefetch is -1",
               [&] { DataLoader(dataset, {.prefetch = -1}, test_device()); });
}

}  // namespace
}  // namespace remora
