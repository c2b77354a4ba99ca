// Zip archives made by hand, so that a test can let them lie about any of their fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace remora::io {

struct RawZipEntry {
  std::string name;
  std::string packed;         // as it lies in the archive
  uint16_t method = 0;        // 0: stored, 8: deflated
  uint16_t flags = 0;         // 1: encrypted
  uint32_t bytes = 0;         // when inflated
  uint32_t checksum = 0;      // CRC-32 of the inflated bytes
  uint32_t packed_bytes = 0;  // as claimed
  /// The local header to point at: the index of the entry whose bytes this one shares; -1: its own.
  int shares = -1;
};

/// An entry that tells the truth about `content`.
RawZipEntry zip_entry(std::string name, const std::string& content, bool deflated);
std::string zip_bytes(const std::vector<RawZipEntry>& entries);

}  // namespace remora::io
