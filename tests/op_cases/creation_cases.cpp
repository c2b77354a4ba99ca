#include "tests/op_cases/op_case.h"

namespace remora::test {

using dispatch::ArangeAttrs;
using dispatch::FullAttrs;
using dispatch::RandomAttrs;

void add_creation_cases(OpCases& cases) {
  cases.push_back({"full", "f32", {}, FullAttrs{DType::kF32, {2, 3}, 0.1}});
  cases.push_back({"full", "f32 of an integer", {}, FullAttrs{DType::kF32, {2}, 7}});
  cases.push_back({"full", "f32 rank 0", {}, FullAttrs{DType::kF32, {}, -1.5}});
  cases.push_back({"full", "f32 empty", {}, FullAttrs{DType::kF32, {3, 0}, 1.0}});
  cases.push_back({"full", "i64", {}, FullAttrs{DType::kI64, {5}, (int64_t{1} << 62) + 1}});
  cases.push_back({"full", "bool", {}, FullAttrs{DType::kBool, {4}, true}});

  cases.push_back({"arange", "i64", {}, ArangeAttrs{DType::kI64, 7, 3, 2}});
  cases.push_back({"arange", "i64 downwards", {}, ArangeAttrs{DType::kI64, 7, 3, -2}});
  cases.push_back({"arange", "i64 empty", {}, ArangeAttrs{DType::kI64, 0, 0, 1}});
  cases.push_back({"arange", "f32", {}, ArangeAttrs{DType::kF32, 1001, 0.5, 0.1}});
  cases.push_back({"arange", "f32 of integers", {}, ArangeAttrs{DType::kF32, 5, -2, 1}});

  for (const char* op : {"uniform", "normal"}) {
    cases.push_back({op, "f32", {}, RandomAttrs{DType::kF32, {3, 5}, 42, 0}});
    cases.push_back({op, "one more than a block", {}, RandomAttrs{DType::kF32, {5}, 1, 7}});
    cases.push_back({op, "rank 0", {}, RandomAttrs{DType::kF32, {}, 1, 7}});
    cases.push_back({op, "empty", {}, RandomAttrs{DType::kF32, {0}, 1, 7}});
    cases.push_back({op, "64-bit seed", {}, RandomAttrs{DType::kF32, {9}, 0x123456789ABCDEF0, 3}});
    cases.push_back({op, "offset across 2^32", {}, RandomAttrs{DType::kF32, {64}, 9, 0xFFFFFFF8}});
    cases.push_back({op, "long", {}, RandomAttrs{DType::kF32, {70, 101}, 9, 0}});
  }
}

}  // namespace remora::test
