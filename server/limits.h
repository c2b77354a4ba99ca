// The worker's own limits; those that both sides of the wire know are in proto/limits.h. Constants
// only. Units are in the names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::server {

/// Bytes that tell one start of a worker from another.
inline constexpr size_t kInstanceBytes = 16;
/// Devices one worker serves.
inline constexpr size_t kMaxDevices = 64;

/// A session's stream is not read while so many bytes of replies wait to be sent.
inline constexpr size_t kMaxWaitingReplyBytes = size_t{16} << 20;
/// Replies of one frame are cut off after so many bytes.
inline constexpr size_t kReplyFrameBytes = size_t{1} << 20;
/// Errors of ops that wait to be sent; further ones are left out, the poisoned values tell them all
/// the same.
inline constexpr size_t kMaxWaitingErrors = 1024;
/// Longest message of a status on the wire.
inline constexpr size_t kMaxStatusMessageBytes = 4096;

/// Host data and uploads of a session that its devices have not taken yet; its stream waits beyond
/// it. One tensor larger than this may wait alone.
inline constexpr int64_t kMaxInFlightBytes = int64_t{256} << 20;
/// What a task of a queue counts for beside its tensor's bytes, so that empty tensors are bounded
/// too.
inline constexpr int64_t kTaskBytes = 256;
/// A session looks at its progress after so many windows of a device.
inline constexpr size_t kWindowsPerMark = 16;
/// Window numbers remembered so that one that comes again is seen.
inline constexpr size_t kRememberedWindows = size_t{1} << 16;

/// Upload calls of one session that arrived before their announcement: each holds one chunk.
inline constexpr size_t kMaxEarlyUploads = 32;
/// Ended uploads remembered, so that a call that comes late learns how they ended.
inline constexpr size_t kRememberedUploads = 1024;

/// An upload call that brings no bytes for this long is broken off, once its upload is announced.
inline constexpr int kUploadProgressDeadline_ms = 60'000;
/// Uploads on their way to a device may hold one part in so many of its memory limit beside what it
/// holds, or one tensor that is larger; with the devices' default limits that fits the machine.
inline constexpr int64_t kStagingPart = 4;

/// A serialized DownloadRequest.
inline constexpr size_t kMaxDownloadRequestBytes = 4096;

/// A token file, and the lines of it that are no comments.
inline constexpr size_t kMaxTokenFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxTokens = 4096;
/// What a peer calls itself is cut to this in logs.
inline constexpr size_t kMaxLoggedNameBytes = 128;

/// Connections that the kernel keeps for the worker to accept, and those whose first bytes it waits
/// for, for so long; one more closes the oldest.
inline constexpr int kListenBacklog = 512;
inline constexpr size_t kMaxSilentConnections = 256;
inline constexpr int kFirstBytesDeadline_ms = 10'000;
/// No connection is accepted for so long when the process has no descriptor left for one.
inline constexpr int kAcceptPause_ms = 100;
/// Calls of one connection that are open at once.
inline constexpr int kMaxConnectionCalls = 8192;

/// A session ends when its client sends no frame for so long, or takes no reply for so long.
inline constexpr int kIdleTimeout_ms = 24 * 3600 * 1000;
inline constexpr int kReplyTimeout_ms = 60'000;
/// The shortest --keepalive.
inline constexpr int kMinKeepalive_ms = 1000;
/// Threads of one device.
inline constexpr int kMaxThreads = 256;
/// Sessions that are due to end are looked for no more often than this.
inline constexpr int kMinOverdueLook_ms = 20;
/// A configuration file.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

/// How long calls may take to end when the worker drains, before they are cancelled.
inline constexpr int kDrainDeadline_ms = 2'000;
/// How long the process may take to end after that signal, an operation that runs included.
inline constexpr int kExitDeadline_ms = 5'000;
/// Memory of the worker that a value takes beside its bytes, at most; a session may hold as many
/// values as its quota has room for at that size, and in any case so many.
inline constexpr int64_t kBytesPerValue = 512;
inline constexpr int64_t kMinSessionValues = 65'536;

}  // namespace remora::server
