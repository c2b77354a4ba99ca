// The worker's own limits; those that both sides of the wire know are in proto/limits.h. Constants
// only. Units are in the names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::server {

/// Bytes of a session name; nobody can guess it.
inline constexpr size_t kSessionNameBytes = 32;
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

/// A token file's content; shorter tokens can be guessed.
inline constexpr size_t kMinTokenBytes = 16;
inline constexpr size_t kMaxTokenBytes = 4096;
/// What a peer calls itself is cut to this in logs.
inline constexpr size_t kMaxLoggedNameBytes = 128;

/// How long calls may take to end when the worker drains, before they are cancelled.
inline constexpr int kDrainDeadline_ms = 2'000;
/// A client that pings more often than this is disconnected.
inline constexpr int kMinPingInterval_ms = 10'000;
/// The worker looks for dead clients this often, and waits this long for their answer.
inline constexpr int kKeepaliveInterval_ms = 30'000;
inline constexpr int kKeepaliveTimeout_ms = 15'000;

}  // namespace remora::server
