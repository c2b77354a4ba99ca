#include "dispatch/attrs_codec.h"

#include <cmath>

#include "dispatch/limits.h"
#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

TEST(AttrsCodec, varints_round_trip_at_every_length) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      std::string bytes;
      append_varint(bytes, value);
      std::string_view in = bytes;
      uint64_t read = 0;
      ASSERT_TRUE(read_varint(in, read));
      EXPECT_EQ(read, value);
      EXPECT_TRUE(in.empty());
      std::string_view cut = std::string_view(bytes).substr(0, bytes.size() - 1);
      EXPECT_FALSE(read_varint(cut, read));
    }
  }
}

TEST(AttrsCodec, varints_that_are_not_minimal_or_too_long_are_refused) {
  for (const std::string_view bytes :
       {std::string_view("\x80\x00", 2), std::string_view("\x81\x80\x00", 3),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)}) {
    std::string_view in = bytes;
    uint64_t value = 0;
    EXPECT_FALSE(read_varint(in, value));
  }
}

TEST(AttrsCodec, zigzag_round_trips_both_ends) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
  EXPECT_EQ(zigzag(-1), 1u);
}

TEST(AttrsCodec, params_are_not_in_the_key_but_their_structure_is) {
  const auto key_of = [](const Attrs& attrs) {
    std::string bytes;
    append_attrs_key(bytes, attrs);
    return bytes;
  };
  EXPECT_EQ(key_of(FullAttrs{DType::kF32, {2}, 1.0}), key_of(FullAttrs{DType::kF32, {2}, 2.5}));
  EXPECT_NE(key_of(FullAttrs{DType::kF32, {2}, 1.0}), key_of(FullAttrs{DType::kF32, {2}, 1}));
  EXPECT_NE(key_of(FullAttrs{DType::kF32, {2}, 1.0}), key_of(FullAttrs{DType::kF32, {3}, 1.0}));
  EXPECT_EQ(key_of(RandomAttrs{DType::kF32, {2}, 1, 2}),
            key_of(RandomAttrs{DType::kF32, {2}, 3, 4}));
  EXPECT_EQ(key_of(SliceAttrs{{0}, {1}, {2}}), key_of(SliceAttrs{{5}, {1}, {2}}));
  EXPECT_NE(key_of(SliceAttrs{{0}, {1}, {2}}), key_of(SliceAttrs{{0}, {2}, {2}}));
}

TEST(AttrsCodec, a_list_longer_than_its_limit_is_refused_before_it_is_allocated) {
  std::string bytes;
  append_varint(bytes, uint64_t{1} << 62);
  Attrs attrs = PermuteAttrs{};
  std::string_view in = bytes;
  EXPECT_TRUE(fails_with(read_attrs_key(in, attrs), absl::StatusCode::kInvalidArgument, {"axes"}));
  bytes.clear();
  append_varint(bytes, kMaxAttrList + 1);
  bytes.append(kMaxAttrList + 1, '\0');
  in = bytes;
  EXPECT_FALSE(read_attrs_key(in, attrs).ok());
}

TEST(AttrsCodec, bytes_that_are_no_dtype_or_bool_are_refused) {
  Attrs cast = DTypeAttrs{};
  for (const char number : {'\0', '\x0e', '\xff'}) {
    std::string_view in(&number, 1);
    EXPECT_FALSE(read_attrs_key(in, cast).ok());
  }
  Attrs reduce = ReduceAttrs{};
  std::string_view in("\x00\x02", 2);
  EXPECT_TRUE(
      fails_with(read_attrs_key(in, reduce), absl::StatusCode::kInvalidArgument, {"keepdims"}));
}

TEST(AttrsCodec, specs_are_checked_as_they_are_read) {
  const auto read = [](const std::string& bytes) {
    std::string_view in = bytes;
    Spec spec;
    return read_spec(in, spec);
  };
  std::string good;
  append_spec(good, {DType::kF32, {2, 3}});
  EXPECT_TRUE(read(good).ok());
  EXPECT_FALSE(read(good.substr(0, 3)).ok());
  EXPECT_FALSE(read(std::string("\x63\x00", 2)).ok()) << "no such dtype";
  EXPECT_TRUE(fails_with(read(std::string("\x0c\x7f", 2)), absl::StatusCode::kInvalidArgument,
                         {"127", "16"}));
  std::string huge("\x0c\x02", 2);
  append_varint(huge, uint64_t{1} << 40);
  append_varint(huge, uint64_t{1} << 40);
  EXPECT_FALSE(read(huge).ok()) << "the element count wraps";
  std::string beyond("\x0c\x01", 2);
  append_varint(beyond, ~uint64_t{0});
  EXPECT_FALSE(read(beyond).ok());
}

TEST(AttrsCodec, scalar_to_integer_truncates_and_saturates) {
  EXPECT_EQ(Scalar(2.9).as_int64(), 2);
  EXPECT_EQ(Scalar(-2.9).as_int64(), -2);
  EXPECT_EQ(Scalar(1e300).as_int64(), INT64_MAX);
  EXPECT_EQ(Scalar(-1e300).as_int64(), INT64_MIN);
  EXPECT_EQ(Scalar(std::nan("")).as_int64(), 0);
  EXPECT_EQ(Scalar(INT64_MAX).as_int64(), INT64_MAX);
}

TEST(AttrsCodec, prints_by_field_names) {
  EXPECT_EQ(attrs_str(ReduceAttrs{{0, 1}, false}), "axes=[0, 1] keepdims=false");
}

}  // namespace
}  // namespace remora::test
