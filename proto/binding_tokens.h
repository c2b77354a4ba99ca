// How the bindings of a run are coded against the graph's run before it: a token says of the next
// `count` inputs (or params) how they follow. Shared by the encoder and the decoder of records; no
// one else needs it.
#pragma once

#include <cstdint>

namespace remora::wire {

/// Low two bits of a token; the count, at least 1, is above them.
enum class BindingToken : uint8_t {
  kSame = 0,  // as in the run before
  kShifted =
      1,     // inputs only: same index, and the window moved by as much as the run's own window did
  kNew = 2,  // spelled out
};

inline constexpr int kTokenKindBits = 2;

/// Window numbers and value indices, as ValueId packs them.
inline constexpr uint64_t kMaxWindow = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kMaxValueIndex = 0xffff;

}  // namespace remora::wire
