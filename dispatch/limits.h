// The limits of dispatch: every queue, cache and size here is bounded, and the bounds stand here.
// Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::dispatch {

/// Axes of a tensor.
inline constexpr int64_t kMaxRank = 16;
/// Elements of a tensor; products of sizes are checked against it before any multiplication wraps.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;
/// Inputs and outputs of one op.
inline constexpr size_t kMaxOpInputs = 1024;
inline constexpr size_t kMaxOpOutputs = 8;
/// Entries of one list attribute.
inline constexpr size_t kMaxAttrList = 64;

/// The highest index of a device: "capture:65535".
inline constexpr int kMaxDeviceIndex = 65535;

/// Ops of a graph that is captured, and its inputs and initializers together.
inline constexpr size_t kMaxCapturedOps = size_t{1} << 16;
inline constexpr size_t kMaxCapturedInputs = size_t{1} << 16;

/// Rows and columns of a matrix that is factored or solved: LAPACK counts in 32 bits.
inline constexpr int64_t kMaxMatrixSide = int64_t{1} << 14;
/// Order of a derivative: its factorial fits a double.
inline constexpr int64_t kMaxDerivativeOrder = 100;

/// Ops of one window; a window that reaches it ends. Outputs stay below 2^16, so that a value's
/// index fits its id.
inline constexpr size_t kMaxWindowOps = 8192;
static_assert(kMaxWindowOps * kMaxOpOutputs <= (1u << 16));
/// A cut is proposed no earlier than this many ops after the last proposal or hard end.
inline constexpr size_t kMinCutOps = 32;
/// A cut is proposed where the top bits of the rolling hash are zero: once in 64 ops on average.
inline constexpr int kCutHashBits = 6;
/// A cut is proposed when the pending outputs of a window exceed this.
inline constexpr int64_t kPendingOutputBytes = int64_t{64} << 20;
/// Hashes of op sequences remembered per device by the cut policy.
inline constexpr size_t kSeenSequences = 1 << 14;

/// Plans kept per device.
inline constexpr size_t kMaxPlans = 1024;
/// Live sets (definitions) kept per op sequence.
inline constexpr size_t kMaxLiveSets = 8;

/// Windows recorded but not yet executed, per device, before a recording thread waits.
inline constexpr size_t kMaxQueuedWindows = 64;
/// Tasks of any kind (windows, reads, transfers), likewise.
inline constexpr size_t kMaxQueuedTasks = 1024;
/// Logical bytes of their outputs, likewise.
inline constexpr int64_t kMaxQueuedBytes = int64_t{4} << 30;

/// How long a thread that waits is held while the process ends, before it is told so. Long enough
/// that one that nobody joins never throws into an exit; short enough that one that somebody joins
/// does not stop it.
inline constexpr int kExitGrace_ms = 5000;

}  // namespace remora::dispatch
