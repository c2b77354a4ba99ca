#include "client/io/gzip_reader.h"

#include <zlib.h>

#include <algorithm>

#include "client/io/file_error.h"
#include "client/io/input_file.h"
#include "client/io/limits.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

void GzipReader::Close::operator()(gzFile_s* file) const { gzclose(file); }

absl::StatusOr<GzipReader> GzipReader::open(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
  REMORA_ASSIGN_OR_RETURN(Descriptor descriptor, file.duplicate());
  gzFile_s* stream = gzdopen(descriptor.number(), "rb");
  if (stream == nullptr) return absl::ResourceExhaustedError("there is no memory to read it");
  descriptor.release();
  return GzipReader(stream, file.size_bytes());
}

bool GzipReader::is_plain() const { return gzdirect(file_.get()) != 0; }

absl::StatusOr<size_t> GzipReader::read(std::span<std::byte> target) {
  size_t done = 0;
  while (done < target.size()) {
    const size_t wanted = std::min(target.size() - done, kStreamChunkBytes);
    const int count = gzread(file_.get(), target.data() + done, static_cast<unsigned>(wanted));
    int code = Z_OK;
    const char* reason = gzerror(file_.get(), &code);
    // A stream that is cut short shows only as this error, not in the count.
    if (count < 0 || code == Z_BUF_ERROR) {
      return absl::DataLossError(str_cat("the compressed data is broken: ", reason));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

}  // namespace remora::io
