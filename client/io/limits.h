// The limits of reading tensor files. A file may come from anybody: these and its real size bound
// what it can make a reader allocate. Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remora::io {

/// The JSON header of a safetensors file: the format's own limit.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;
/// Tensors of one file or archive.
inline constexpr size_t kMaxFileTensors = size_t{1} << 20;

/// The header of an .npy file behind its first bytes; NumPy itself reads 10,000.
inline constexpr size_t kMaxNpyHeaderBytes = size_t{1} << 16;

/// Most bytes that one deflated byte can stand for, rounded up; zlib's documentation says 1032.
inline constexpr int64_t kMaxDeflateRatio = 1040;

/// Bytes read at once from a compressed stream.
inline constexpr size_t kStreamChunkBytes = size_t{1} << 16;

/// Bytes of a file's own text that an error repeats.
inline constexpr size_t kMaxQuotedBytes = 80;

}  // namespace remora::io
