// The limits of the client's side of the wire, beside those both sides share (proto/limits.h).
// Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/limits.h"

namespace remora::remote {

/// Devices a worker may describe.
inline constexpr int kMaxDescribedDevices = 1024;
/// Drops kept for the next frame: by count, and by the bytes they would free on the worker.
inline constexpr size_t kMaxPendingDrops = 32'768;
inline constexpr int64_t kMaxPendingDropBytes = int64_t{64} << 20;
/// Reads that are not answered, or answered and not yet fetched, before a thread that asks for
/// another waits; the worker counts those it has not yet seen acknowledged too, so this stays below
/// its bound.
inline constexpr size_t kMaxOpenReads = wire::kMaxOpenReads / 2;
/// Uploads on their way before a thread that starts another waits.
inline constexpr size_t kMaxOpenUploads = wire::kMaxOpenUploads / 2;
/// Uploads that send at once. The others wait their turn in the order of their announcements, so
/// that one the worker has not been told of yet never takes the place of one it waits for.
inline constexpr size_t kMaxRunningUploads = 4;
/// How long a session waits for the worker to agree that it is over: at `disconnect()` and at exit.
inline constexpr int kCloseDeadline_ms = 2'000;
inline constexpr int kExitDeadline_ms = 500;
/// After the stream was cancelled here, for gRPC to say that it is done.
inline constexpr int kCancelDeadline_ms = 5'000;

/// Windows, and ops of all of them, whose callers are known to errors that come back later.
inline constexpr size_t kMaxNamedWindows = 4096;
inline constexpr size_t kMaxNamedOps = 262'144;

/// One HTTP/2 frame.
inline constexpr int kMaxHttp2FrameBytes = 4 << 20;
/// What gRPC may receive as one message: a full chunk and its header.
inline constexpr int kMaxMessageBytes = static_cast<int>(wire::kMaxFrameBytes) + (64 << 10);

}  // namespace remora::remote
