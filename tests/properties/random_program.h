// Random programs: what two threads record, share, drop and read, decided by a seed alone. The rows
// of the catalogue are drawn from blindly: a proposal is taken if the row's own shape rule takes
// it, so a new row takes part without being listed here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dispatch/op.h"
#include "tests/reference/array.h"

namespace remora::test {

inline constexpr int kThreads = 2;

struct Step {
  enum class Kind : uint8_t {
    kUpload,  // values[0] = data
    kOp,      // values... = op(operands)
    kDrop,    // this thread's handle of values[0] goes
    kRead,    // values[0] is read
    kFlush,
  };
  Kind kind = Kind::kOp;
  int thread = 0;
  std::vector<uint32_t> values = {};
  reference::Array data = {};
  const dispatch::OpInfo* info = nullptr;
  dispatch::Attrs attrs = {};
  std::vector<uint32_t> operands = {};
};

struct Program {
  uint64_t seed = 0;
  std::vector<Step> steps;
  std::vector<Spec> specs;      // of every value
  std::vector<int> makers;      // the thread that makes it
  std::vector<bool> is_shared;  // the other thread takes a handle of it
  /// One step a line.
  std::string str() const;
};

/// Up to 100 ops.
Program make_program(uint64_t seed);

/// What a read gave: bytes, or why there are none.
struct Outcome {
  absl::Status status;
  dispatch::HostData data;
};
/// By value.
using Outcomes = std::map<uint32_t, Outcome>;

}  // namespace remora::test
