// Over libzip.
#include "client/io/zip_archive.h"

#include <zip.h>

#include <utility>

#include "client/io/file_error.h"
#include "client/io/limits.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

struct ZipReader::Archive {
  explicit Archive(zip_t* opened) : zip(opened) {}
  ~Archive() { zip_discard(zip); }
  zip_t* zip;
};

namespace {

/// What libzip says, with the code of the system's error if it was one.
absl::Status zip_failure(zip_error_t* error, absl::StatusCode code) {
  if (zip_error_system_type(error) == ZIP_ET_SYS) {
    code = absl::ErrnoToStatusCode(zip_error_code_system(error));
  }
  return {code, zip_error_strerror(error)};
}

absl::StatusOr<ZipReader::Entry> read_entry(zip_t* zip, uint64_t index, int64_t& packed_left) {
  zip_stat_t stat;
  if (zip_stat_index(zip, index, 0, &stat) != 0) {
    return prefixed(str_cat("entry ", index),
                    zip_failure(zip_get_error(zip), absl::StatusCode::kInvalidArgument));
  }
  constexpr uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                               ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & kNeeded) != kNeeded) {
    return malformed(str_cat("entry ", index, ": its sizes or its name are missing"));
  }
  const std::string entry = str_cat("entry ", in_quotes(stat.name));
  if (stat.encryption_method != ZIP_EM_NONE) {
    return absl::UnimplementedError(str_cat(entry, ": is encrypted"));
  }
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    return absl::UnimplementedError(str_cat(entry, ": is packed by method ", stat.comp_method,
                                            "; 0 (stored) and 8 (deflated) are read"));
  }
  // Entries that share bytes would let a small file stand for any number of large ones.
  if (stat.comp_size > static_cast<uint64_t>(packed_left)) {
    return malformed(str_cat(entry, ": claims ", stat.comp_size,
                             " packed bytes where the file has ", packed_left,
                             " that belong to no other entry"));
  }
  packed_left -= static_cast<int64_t>(stat.comp_size);
  const auto packed = static_cast<int64_t>(stat.comp_size);
  const bool is_stored = stat.comp_method == ZIP_CM_STORE;
  const int64_t most = is_stored ? packed : packed * kMaxDeflateRatio;
  if (stat.size > static_cast<uint64_t>(most) || (is_stored && stat.size != stat.comp_size)) {
    return malformed(str_cat(entry, ": claims ", stat.size, " bytes; the ", packed,
                             " that are packed cannot give that many"));
  }
  return ZipReader::Entry{stat.name, static_cast<int64_t>(stat.size)};
}

struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using EntryHandle = std::unique_ptr<zip_file_t, CloseEntry>;

absl::Status read_from(zip_file_t* file, std::span<std::byte> target) {
  while (!target.empty()) {
    const zip_int64_t count = zip_fread(file, target.data(), target.size());
    if (count < 0) return zip_failure(zip_file_get_error(file), absl::StatusCode::kDataLoss);
    if (count == 0) return absl::DataLossError("the packed data ends too early");
    target = target.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status add_member(zip_t* zip, const ZipMember& member, bool deflated) {
  std::vector<zip_buffer_fragment_t> fragments;
  for (const std::span<const std::byte> part : member.parts) {
    if (part.empty()) continue;
    auto* bytes = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(part.data()));
    fragments.push_back({bytes, part.size()});
  }
  zip_source_t* source = zip_source_buffer_fragment(zip, fragments.data(), fragments.size(), 0);
  const auto failure = [&] {
    return prefixed(str_cat("entry ", in_quotes(member.name)),
                    zip_failure(zip_get_error(zip), absl::StatusCode::kInvalidArgument));
  };
  if (source == nullptr) return failure();
  const zip_int64_t index = zip_file_add(zip, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    const absl::Status status = failure();
    zip_source_free(source);
    return status;
  }
  // The first day of the format's calendar: the time of writing would make equal files differ.
  constexpr zip_uint16_t kFirstDate = 1 << 5 | 1;
  const auto place = static_cast<zip_uint64_t>(index);
  if (zip_file_set_dostime(zip, place, 0, kFirstDate, 0) != 0 ||
      zip_set_file_compression(zip, place, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0) {
    return failure();
  }
  return absl::OkStatus();
}

}  // namespace

ZipReader::ZipReader(std::unique_ptr<Archive> archive, std::vector<Entry> entries)
    : archive_(std::move(archive)), entries_(std::move(entries)) {}
ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader::~ZipReader() = default;

absl::StatusOr<ZipReader> ZipReader::open(const InputFile& file) {
  REMORA_ASSIGN_OR_RETURN(Descriptor descriptor, file.duplicate());
  int code = 0;
  zip_t* zip = zip_fdopen(descriptor.number(), 0, &code);
  if (zip == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const absl::Status status = zip_failure(&error, absl::StatusCode::kInvalidArgument);
    zip_error_fini(&error);
    return status;
  }
  descriptor.release();
  auto archive = std::make_unique<Archive>(zip);
  const zip_int64_t count = zip_get_num_entries(zip, 0);
  if (count > static_cast<zip_int64_t>(kMaxFileTensors)) {
    return malformed(str_cat("has ", count, " entries; the limit is ", kMaxFileTensors));
  }
  std::vector<Entry> entries;
  int64_t packed_left = file.size_bytes();
  for (zip_int64_t index = 0; index < count; ++index) {
    REMORA_ASSIGN_OR_RETURN(Entry entry,
                            read_entry(zip, static_cast<uint64_t>(index), packed_left));
    entries.push_back(std::move(entry));
  }
  return ZipReader(std::move(archive), std::move(entries));
}

absl::Status ZipReader::read(
    size_t index, const std::function<absl::Status(const ReadNext& read)>& consume) const {
  const EntryHandle entry(zip_fopen_index(archive_->zip, index, 0));
  if (entry == nullptr) {
    return zip_failure(zip_get_error(archive_->zip), absl::StatusCode::kDataLoss);
  }
  REMORA_RETURN_IF_ERROR(
      consume([&](std::span<std::byte> target) { return read_from(entry.get(), target); }));
  // libzip compares the checksum where it finds the end.
  std::byte behind = {};
  const zip_int64_t count = zip_fread(entry.get(), &behind, 1);
  if (count < 0) return zip_failure(zip_file_get_error(entry.get()), absl::StatusCode::kDataLoss);
  if (count > 0) return absl::DataLossError("the packed data holds more than it claims");
  return absl::OkStatus();
}

absl::Status write_zip(const std::filesystem::path& path, std::span<const ZipMember> members,
                       bool deflated) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const absl::Status status = zip_failure(&error, absl::StatusCode::kInternal);
    zip_error_fini(&error);
    return status;
  }
  for (const ZipMember& member : members) {
    const absl::Status status = add_member(zip, member, deflated);
    if (!status.ok()) {
      zip_discard(zip);
      return status;
    }
  }
  if (zip_close(zip) == 0) return absl::OkStatus();
  const absl::Status status = zip_failure(zip_get_error(zip), absl::StatusCode::kInternal);
  zip_discard(zip);
  return status;
}

}  // namespace remora::io
