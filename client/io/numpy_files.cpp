#include "client/io/numpy_files.h"

#include "absl/container/flat_hash_set.h"
#include "client/io/file_error.h"
#include "client/io/npy_format.h"
#include "client/io/output_file.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {

namespace {

constexpr std::string_view kSuffix = ".npy";

/// An archive without entries: only the end of its directory. libzip would write no file at all.
constexpr std::string_view kEmptyArchive("PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);

std::string entry_text(std::string_view name) { return str_cat("entry ", in_quotes(name)); }

}  // namespace

absl::StatusOr<NpzFile> NpzFile::open(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
  REMORA_ASSIGN_OR_RETURN(ZipReader archive, ZipReader::open(file));
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> seen;
  for (const ZipReader::Entry& entry : archive.entries()) {
    const std::string_view name = entry.name;
    if (!name.ends_with(kSuffix)) {
      return malformed(str_cat(entry_text(name), ": is no array: its name has no \".npy\""));
    }
    names.emplace_back(name.substr(0, name.size() - kSuffix.size()));
    if (!seen.insert(names.back()).second) {
      return malformed(str_cat(entry_text(name), ": the name comes twice"));
    }
  }
  return NpzFile(std::move(archive), std::move(names));
}

absl::StatusOr<dispatch::HostData> NpzFile::read(size_t index) const {
  const ZipReader::Entry& entry = archive_.entries()[index];
  absl::StatusOr<dispatch::HostData> data;
  absl::Status status = archive_.read(index, [&](const ReadNext& read) {
    data = read_npy(read, entry.bytes);
    return data.status();
  });
  if (!status.ok()) return prefixed(entry_text(entry.name), status);
  return data;
}

absl::Status write_npz(const std::filesystem::path& path, std::span<const NamedData> tensors,
                       bool deflated) {
  std::vector<std::string> headers;
  for (const NamedData& tensor : tensors) {
    if (tensor.name.find('\0') != std::string::npos) {
      return malformed(str_cat("tensor ", in_quotes(tensor.name), ": a name cannot hold a NUL"));
    }
    absl::StatusOr<std::string> header = format_npy_header(tensor.data.spec);
    if (!header.ok()) {
      return prefixed(str_cat("tensor ", in_quotes(tensor.name)), header.status());
    }
    headers.push_back(*std::move(header));
  }
  std::vector<ZipMember> members;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const char> header(headers[i]);
    members.push_back(
        {str_cat(tensors[i].name, kSuffix), {std::as_bytes(header), tensors[i].data.span()}});
  }
  REMORA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  if (members.empty()) {
    REMORA_RETURN_IF_ERROR(file.write(kEmptyArchive));
  } else {
    REMORA_RETURN_IF_ERROR(write_zip(file.temporary(), members, deflated));
  }
  return file.commit();
}

absl::StatusOr<dispatch::HostData> read_npy_file(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(path));
  int64_t position = 0;
  const auto read_next = [&](std::span<std::byte> target) {
    const int64_t begin = position;
    position += std::ssize(target);
    return file.read(begin, target);
  };
  return read_npy(read_next, file.size_bytes());
}

absl::Status write_npy_file(const std::filesystem::path& path, const dispatch::HostData& data) {
  REMORA_ASSIGN_OR_RETURN(const std::string header, format_npy_header(data.spec));
  REMORA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  REMORA_RETURN_IF_ERROR(file.write(header));
  REMORA_RETURN_IF_ERROR(file.write(data.span()));
  return file.commit();
}

}  // namespace remora::io
