#include "tests/io/format_cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/generators.h"
#include "tests/support/temporary_folder.h"

namespace remora::io {

namespace {

constexpr uint64_t kSeed = 20240607;
constexpr int kDamagedFiles = 500;

bool can_be_caused_by_a_file(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

void expect_fair(const absl::Status& status) {
  if (status.ok()) return;
  EXPECT_TRUE(can_be_caused_by_a_file(status.code())) << status;
  EXPECT_FALSE(status.message().empty());
  EXPECT_LT(status.message().size(), 1000U) << status;
}

}  // namespace

std::vector<DType> all_dtypes() {
  return {
#define DTYPE(number, enumerator, name, storage, category) DType::enumerator,
#include "dispatch/dtypes.def"
#undef DTYPE
  };
}

dispatch::HostData random_data(DType dtype, const Shape& shape, uint64_t seed) {
  test::Random random(seed);
  return dispatch::HostData::make({dtype, shape}, [&](std::span<std::byte> bytes) {
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random.below(dtype == DType::kBool ? 2 : 256));
    }
  });
}

void expect_same(const dispatch::HostData& actual, const dispatch::HostData& expected) {
  EXPECT_EQ(actual.spec.str(), expected.spec.str());
  if (actual.spec == expected.spec) {
    EXPECT_TRUE(std::ranges::equal(actual.span(), expected.span())) << expected.spec.str();
  }
}

void expect_refused(const std::vector<HostileFile>& files, const Reader& read) {
  const test::TemporaryFolder folder;
  for (const HostileFile& file : files) {
    SCOPED_TRACE(file.name);
    const absl::Status status = read(folder.write("file", file.bytes));
    EXPECT_EQ(status.code(), file.code) << status;
    EXPECT_NE(std::string(status.message()).find(file.message), std::string::npos) << status;
  }
}

void expect_survives_damage(const std::string& bytes, const Reader& read) {
  const test::TemporaryFolder folder;
  const size_t step = std::max<size_t>(1, bytes.size() / 200);
  for (size_t size = 0; size < bytes.size(); size += step) {
    SCOPED_TRACE(testing::Message() << "cut at " << size);
    const absl::Status status = read(folder.write("file", bytes.substr(0, size)));
    EXPECT_FALSE(status.ok());
    expect_fair(status);
  }
  test::Random random(kSeed);
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  for (int round = 0; round < kDamagedFiles; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::string damaged = bytes;
    for (int64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const auto place = static_cast<size_t>(random.below(std::ssize(damaged)));
      damaged[place] = static_cast<char>(random.below(256));
    }
    expect_fair(read(folder.write("file", damaged)));
  }
}

}  // namespace remora::io
