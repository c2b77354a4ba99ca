#include "tests/io/zip_bytes.h"

#include <zlib.h>

#include "tests/io/format_cases.h"

namespace remora::io {

namespace {

std::string deflate_raw(const std::string& content) {
  z_stream stream = {};
  constexpr int kRawWindowBits = -15;
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kRawWindowBits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// What the local header and the directory have in common, from the flags to the name's length.
std::string shared_fields(const RawZipEntry& entry) {
  return little_endian(entry.flags) + little_endian(entry.method) +
         little_endian(uint32_t{1 << 21 | 1 << 16}) + little_endian(entry.checksum) +
         little_endian(entry.packed_bytes) + little_endian(entry.bytes) +
         little_endian(static_cast<uint16_t>(entry.name.size())) + little_endian(uint16_t{0});
}

}  // namespace

RawZipEntry zip_entry(std::string name, const std::string& content, bool deflated) {
  RawZipEntry entry;
  entry.name = std::move(name);
  entry.packed = deflated ? deflate_raw(content) : content;
  entry.method = deflated ? 8 : 0;
  entry.bytes = static_cast<uint32_t>(content.size());
  entry.checksum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
  entry.packed_bytes = static_cast<uint32_t>(entry.packed.size());
  return entry;
}

std::string zip_bytes(const std::vector<RawZipEntry>& entries) {
  std::string archive;
  std::vector<uint32_t> places;
  for (const RawZipEntry& entry : entries) {
    if (entry.shares >= 0) {
      places.push_back(places[static_cast<size_t>(entry.shares)]);
      continue;
    }
    places.push_back(static_cast<uint32_t>(archive.size()));
    archive += "PK\x03\x04" + little_endian(uint16_t{20}) + shared_fields(entry) + entry.name +
               entry.packed;
  }
  const auto directory = static_cast<uint32_t>(archive.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    archive += "PK\x01\x02" + little_endian(uint32_t{20 << 16 | 20}) + shared_fields(entries[i]) +
               std::string(10, '\0') + little_endian(places[i]) + entries[i].name;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  const auto directory_bytes = static_cast<uint32_t>(archive.size() - directory);
  return archive + "PK\x05\x06" + std::string(4, '\0') + little_endian(count) +
         little_endian(count) + little_endian(directory_bytes) + little_endian(directory) +
         std::string(2, '\0');
}

}  // namespace remora::io
