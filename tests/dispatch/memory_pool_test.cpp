#include "dispatch/memory_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using dispatch::MemoryPool;

/// Remembers what is out and can be told to refuse.
class CountingSource : public dispatch::MemorySource {
 public:
  void* allocate(int64_t bytes) override {
    if (bytes_out + bytes > capacity) return nullptr;
    bytes_out += bytes;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that nobody looks behind
    void* memory = reinterpret_cast<void*>(next_ += 4096);
    out_[memory] = bytes;
    return memory;
  }
  void free(void* memory, int64_t bytes) override {
    EXPECT_EQ(out_.at(memory), bytes);
    out_.erase(memory);
    bytes_out -= bytes;
  }
  void clear(void* memory, int64_t bytes) override {
    EXPECT_EQ(out_.at(memory), bytes);
    cleared.push_back(memory);
  }
  std::vector<void*> cleared;
  int64_t bytes_out = 0;
  int64_t capacity = INT64_MAX;

 private:
  uintptr_t next_ = 0;
  std::map<void*, int64_t> out_;
};

TEST(MemoryPool, accounts_exactly_and_reuses_a_freed_block) {
  CountingSource source;
  {
    MemoryPool pool("cpu:0", source, 1 << 20);
    void* first = *pool.allocate(1000);
    EXPECT_GE(pool.live_bytes(), 1000);
    EXPECT_EQ(source.bytes_out, pool.live_bytes());
    pool.free(first, 1000);
    EXPECT_EQ(pool.live_bytes(), 0);
    EXPECT_EQ(pool.cached_bytes(), source.bytes_out);
    EXPECT_EQ(*pool.allocate(1000), first);
    EXPECT_EQ(pool.cached_bytes(), 0);
    pool.free(first, 1000);
    pool.trim();
    EXPECT_EQ(source.bytes_out, 0);
    EXPECT_EQ(pool.cached_bytes(), 0);
    pool.free(*pool.allocate(5), 5);
  }
  EXPECT_EQ(source.bytes_out, 0) << "the pool gives its cache back when it goes";
}

TEST(MemoryPool, remembers_the_most_live_bytes_at_once) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 1 << 20);
  void* first = *pool.allocate(4096);
  ASSERT_TRUE(pool.charge(1024).ok());
  pool.free(first, 4096);
  EXPECT_EQ(pool.peak_bytes(), 4096 + 1024);
  pool.reset_peak();
  EXPECT_EQ(pool.peak_bytes(), 1024);
  pool.uncharge(1024);
}

TEST(MemoryPool, hard_limit_holds_and_the_refusal_names_device_and_numbers) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 4096);
  void* block = *pool.allocate(4096);
  EXPECT_TRUE(fails_with(pool.allocate(64).status(), absl::StatusCode::kResourceExhausted,
                         {"cpu:0", "64", "4096"}));
  EXPECT_FALSE(pool.allocate(INT64_MAX).ok());
  EXPECT_EQ(pool.live_bytes(), 4096);
  pool.free(block, 4096);
  EXPECT_TRUE(pool.allocate(4096).ok());
  pool.free(block, 4096);
}

TEST(MemoryPool, cached_blocks_are_given_back_before_an_allocation_is_refused) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 4096);
  void* small = *pool.allocate(1024);
  pool.free(small, 1024);
  ASSERT_GT(pool.cached_bytes(), 0);
  void* large = *pool.allocate(4096);
  EXPECT_EQ(pool.cached_bytes(), 0);
  EXPECT_EQ(source.bytes_out, 4096);
  pool.free(large, 4096);
}

TEST(MemoryPool, a_source_that_is_out_of_memory_is_an_error_not_an_abort) {
  CountingSource source;
  source.capacity = 1024;
  MemoryPool pool("cpu:0", source, 1 << 20);
  void* block = *pool.allocate(1024);
  EXPECT_TRUE(
      fails_with(pool.allocate(64).status(), absl::StatusCode::kResourceExhausted, {"cpu:0"}));
  pool.free(block, 1024);
  EXPECT_TRUE(pool.allocate(64).ok()) << "the cached block goes back to the source first";
}

TEST(MemoryPool, adopted_memory_counts_against_the_limit) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 4096);
  EXPECT_TRUE(pool.charge(4000).ok());
  EXPECT_EQ(pool.live_bytes(), 4000);
  EXPECT_EQ(source.bytes_out, 0);
  EXPECT_TRUE(
      fails_with(pool.charge(97), absl::StatusCode::kResourceExhausted, {"97", "4000", "4096"}));
  EXPECT_FALSE(pool.allocate(128).ok());
  pool.uncharge(4000);
  EXPECT_EQ(pool.live_bytes(), 0);
}

TEST(MemoryPool, every_size_class_covers_its_request_and_wastes_at_most_an_eighth) {
  for (int64_t bytes : {1, 63, 64, 65, 96, 97, 1000, 4097, 1 << 20, (1 << 20) + 1, (3 << 20) + 5}) {
    CountingSource source;
    MemoryPool pool("cpu:0", source, 1 << 30);
    void* block = *pool.allocate(bytes);
    EXPECT_GE(source.bytes_out, bytes);
    // Or less than the alignment.
    EXPECT_LE(source.bytes_out, bytes + std::max<int64_t>(63, bytes / 8)) << bytes;
    pool.free(block, bytes);
  }
}

/// Memory of a real heap, which hands freed blocks out again as they were.
class HeapSource : public dispatch::MemorySource {
 public:
  void* allocate(int64_t bytes) override { return std::malloc(static_cast<size_t>(bytes)); }
  void free(void* memory, int64_t) override { std::free(memory); }
  void clear(void* memory, int64_t bytes) override {
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }
};

TEST(MemoryPool, what_one_owner_leaves_another_never_sees) {
  HeapSource source;
  MemoryPool pool("cpu:0", source, 1 << 20);
  constexpr int64_t kBytes = 1000;
  const auto all_are = [](const void* memory, unsigned char value) {
    const auto* bytes = static_cast<const unsigned char*>(memory);
    return std::all_of(bytes, bytes + kBytes, [&](unsigned char each) { return each == value; });
  };
  const auto write_and_free = [&](dispatch::MemoryOwner owner, unsigned char value) {
    const dispatch::MemoryOwnerScope scope(owner);
    void* memory = *pool.allocate(kBytes);
    std::memset(memory, value, kBytes);
    pool.free(memory, kBytes);
  };
  // From the pool's cache.
  write_and_free(1, 0xaa);
  {
    const dispatch::MemoryOwnerScope scope(2);
    void* memory = *pool.allocate(kBytes);
    EXPECT_TRUE(all_are(memory, 0));
    pool.free(memory, kBytes);
  }
  // By way of the source, which gives back the same block.
  write_and_free(1, 0xbb);
  pool.trim();
  const dispatch::MemoryOwnerScope scope(2);
  void* memory = *pool.allocate(kBytes);
  EXPECT_TRUE(all_are(memory, 0));
  pool.free(memory, kBytes);
}

TEST(MemoryPool, an_owner_gets_its_own_blocks_back_as_they_are) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 1 << 20);
  void* first = nullptr;
  void* second = nullptr;
  {
    const dispatch::MemoryOwnerScope scope(1);
    first = *pool.allocate(100);
  }
  {
    const dispatch::MemoryOwnerScope scope(2);
    second = *pool.allocate(100);
  }
  EXPECT_EQ(source.cleared, (std::vector<void*>{first, second}));
  pool.free(first, 100);
  pool.free(second, 100);
  {
    const dispatch::MemoryOwnerScope scope(1);
    EXPECT_EQ(*pool.allocate(100), first);
  }
  EXPECT_EQ(source.cleared.size(), 2u);
  pool.free(first, 100);
  // A program without owners pays nothing.
  void* plain = *pool.allocate(100);
  EXPECT_EQ(source.cleared.size(), 2u);
  pool.free(plain, 100);
}

TEST(MemoryPool, a_retired_owner_leaves_nothing_in_the_cache) {
  CountingSource source;
  MemoryPool pool("cpu:0", source, 1 << 20);
  void* in_use = nullptr;
  {
    const dispatch::MemoryOwnerScope scope(1);
    in_use = *pool.allocate(100);
    void* cached = *pool.allocate(100);
    pool.free(cached, 100);
  }
  void* others = *pool.allocate(200);
  pool.free(others, 200);
  pool.retire(1);
  EXPECT_EQ(pool.cached_bytes(), source.bytes_out - pool.live_bytes());
  const int64_t cached_bytes = pool.cached_bytes();
  EXPECT_GT(cached_bytes, 0) << "what has no owner stays";
  pool.free(in_use, 100);
  EXPECT_EQ(pool.cached_bytes(), cached_bytes);
  EXPECT_EQ(pool.live_bytes(), 0);
}

}  // namespace
}  // namespace remora::test
