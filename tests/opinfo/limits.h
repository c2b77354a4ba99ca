// Bounds on what the conformance tool reads: a case directory may come from anybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::opinfo {

inline constexpr int64_t kMaxCaseFileBytes = int64_t{256} << 20;
inline constexpr size_t kMaxCases = 200'000;
/// Lists within lists of a call's arguments.
inline constexpr int kMaxArgumentDepth = 8;
/// Calls within calls of one row of the PyTorch table.
inline constexpr int kMaxCallDepth = 8;

}  // namespace remora::opinfo
