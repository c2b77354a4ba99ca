#include "dispatch/memory_pool.h"

#include <cstdint>
#include <map>

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
    void* memory = reinterpret_cast<void*>(next_ += 4096);
    out_[memory] = bytes;
    return memory;
  }
  void free(void* memory, int64_t bytes) override {
    EXPECT_EQ(out_.at(memory), bytes);
    out_.erase(memory);
    bytes_out -= bytes;
  }
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

}  // namespace
}  // namespace remora::test
