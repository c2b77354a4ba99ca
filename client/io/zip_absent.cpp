// zip_archive.h in a build without a zip library.
#include "client/io/zip_archive.h"

namespace remora::io {

namespace {

absl::Status absent() {
  return absl::UnimplementedError(
      "this build of Remora has no zip library: build it with REMORA_ZIP=ON (Debian: libzip-dev)");
}

}  // namespace

struct ZipReader::Archive {};

ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader::~ZipReader() = default;

absl::StatusOr<ZipReader> ZipReader::open(const InputFile&) { return absent(); }

absl::Status ZipReader::read(size_t,
                             const std::function<absl::Status(const ReadNext& read)>&) const {
  return absent();
}

absl::Status write_zip(const std::filesystem::path&, std::span<const ZipMember>, bool) {
  return absent();
}

}  // namespace remora::io
