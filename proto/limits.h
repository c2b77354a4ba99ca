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
/// Reads asked for and not yet answered and acknowledged, or fetched where the answer is streamed.
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

/// Deadline of control calls: Describe, the first frame and its answer.
inline constexpr int kControlDeadline_ms = 10'000;

/// A token, which travels as a header with every call; shorter ones can be guessed.
inline constexpr size_t kMinTokenBytes = 16;
inline constexpr size_t kMaxTokenBytes = 4096;
/// Bytes of a token's SHA-256, and of a token that `remora token new` makes.
inline constexpr size_t kTokenHashBytes = 32;
inline constexpr size_t kNewTokenBytes = 32;
/// The name of an identity, for whom a token is; one from a certificate is cut to this.
inline constexpr size_t kMaxIdentityNameBytes = 128;
/// What a session is called on the bulk plane; nobody can guess it.
inline constexpr size_t kSessionNameBytes = 32;
/// A certificate chain, a bundle of CAs, a key.
inline constexpr size_t kMaxPemBytes = size_t{4} << 20;

/// Keepalive, either way: a peer that vanished without a word is found within the sum.
inline constexpr int kKeepaliveInterval_ms = 30'000;
inline constexpr int kKeepaliveTimeout_ms = 15'000;
/// A worker disconnects a client that pings more often than this.
inline constexpr int kMinPingInterval_ms = 10'000;

/// Trailing metadata of an Upload call that a worker refused: the tensor is poisoned and the op
/// stream says so. Without it, the call ended before the worker knew of it.
inline constexpr const char* kSettledKey = "remora-settled";

}  // namespace remora::wire
