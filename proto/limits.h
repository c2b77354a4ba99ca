// The limits of the wire: sizes and counts that both sides enforce before they allocate or wait.
// Constants only. Units are in the names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dispatch/limits.h"

namespace remora::wire {

/// Protocol versions this build speaks.
inline constexpr uint32_t kMinVersion = 1;
inline constexpr uint32_t kMaxVersion = 1;
/// Version byte that opens a frame's records.
inline constexpr uint8_t kRecordsVersion = 1;

/// One ClientFrame or WorkerFrame, serialized.
inline constexpr size_t kMaxFrameBytes = size_t{4} << 20;
/// Records are sent before a frame's buffer exceeds this.
inline constexpr size_t kTargetFrameBytes = size_t{1} << 20;
/// Host data up to this travels inside a frame; larger data by Upload. Read results likewise.
inline constexpr size_t kMaxInlineBytes = size_t{64} << 10;
/// Data bytes of one chunk of the bulk plane.
inline constexpr size_t kChunkBytes = size_t{1} << 20;
inline constexpr size_t kMaxChunkBytes = size_t{2} << 20;

/// Graph definitions of one session: a client that reaches a bound sends its windows as single-use
/// ones.
inline constexpr size_t kMaxSessionGraphs = 4096;
/// Ops and bytes of them all together.
inline constexpr size_t kMaxSessionGraphOps = size_t{1} << 20;
inline constexpr size_t kMaxSessionGraphBytes = size_t{64} << 20;
/// Ops and external inputs of one graph.
inline constexpr size_t kMaxGraphOps = dispatch::kMaxWindowOps;
inline constexpr size_t kMaxGraphInputs = 4 * dispatch::kMaxWindowOps;
/// Outputs and param slots of one graph: what its ops can have at most.
inline constexpr size_t kMaxGraphOutputs = dispatch::kMaxWindowOps * dispatch::kMaxOpOutputs;
inline constexpr size_t kMaxGraphParams = dispatch::kMaxWindowOps * size_t{dispatch::kMaxRank};
/// Encoding of one graph. With the largest bindings it still fits one frame.
inline constexpr size_t kMaxGraphBytes = size_t{2} << 20;
/// Inputs and params of all defined graphs of a session together: both sides remember their last
/// run.
inline constexpr size_t kMaxSessionBindings = size_t{1} << 22;
/// Inputs and params of all runs of one frame together: those that repeat cost no bytes, but work.
inline constexpr size_t kMaxFrameBindings = size_t{1} << 20;
static_assert(kMaxGraphInputs + kMaxGraphParams <= kMaxFrameBindings);
/// Values one session may hold.
inline constexpr size_t kMaxSessionValues = size_t{1} << 22;
/// Windows a session may have waiting on the worker before its stream is not read any more.
inline constexpr size_t kMaxWaitingWindows = 256;
/// Reads asked for and not yet answered and acknowledged.
inline constexpr size_t kMaxOpenReads = 4096;
/// Uploads announced and not yet complete.
inline constexpr size_t kMaxOpenUploads = 1024;
/// Sessions of one worker.
inline constexpr size_t kMaxSessions = 1024;

/// Frames a client keeps unacknowledged, by bytes, before a recording thread waits.
inline constexpr size_t kMaxUnackedBytes = size_t{64} << 20;
/// Worker: acks are sent at the latest after so many frames or bytes.
inline constexpr uint64_t kAckFrames = 16;
inline constexpr size_t kAckBytes = size_t{1} << 20;

/// Deadline of control calls (Describe, the first frame's answer).
inline constexpr int kControlDeadline_ms = 10'000;

}  // namespace remora::wire
