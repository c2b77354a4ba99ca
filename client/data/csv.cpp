#include "client/data/csv.h"

#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "client/io/gzip_reader.h"
#include "client/io/limits.h"
#include "client/limits.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::data {

namespace {

[[noreturn]] void fail(absl::StatusCode code, const std::filesystem::path& path,
                       const std::string& message) {
  throw Error(absl::Status(code, str_cat("read_csv: ", path.string(), ": ", message)));
}

std::string read_all(const std::filesystem::path& path) {
  const auto check = [&](const absl::Status& status) {
    if (!status.ok()) fail(status.code(), path, std::string(status.message()));
  };
  absl::StatusOr<io::GzipReader> reader = io::GzipReader::open(path);
  check(reader.status());
  std::string text;
  for (;;) {
    const size_t size = text.size();
    text.resize(size + io::kStreamChunkBytes);
    const absl::StatusOr<size_t> count =
        reader->read(std::as_writable_bytes(std::span(text)).subspan(size));
    check(count.status());
    text.resize(size + *count);
    if (text.size() > kMaxDataFileBytes) {
      fail(absl::StatusCode::kResourceExhausted, path,
           str_cat("more than ", kMaxDataFileBytes, " bytes after decompression"));
    }
    if (*count == 0) return text;
  }
}

float parse_number(const std::filesystem::path& path, size_t line, std::string_view field) {
  while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) field.remove_prefix(1);
  while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) {
    const bool is_long = field.size() > kMaxCsvFieldBytes;
    fail(absl::StatusCode::kInvalidArgument, path,
         str_cat("line ", line, ": '", field.substr(0, kMaxCsvFieldBytes), is_long ? "..." : "",
                 "' is not a number"));
  }
  return value;
}

/// Appends the numbers of one line and returns how many there are.
size_t parse_line(const std::filesystem::path& path, size_t line, std::string_view text,
                  std::vector<float>& values) {
  size_t count = 0;
  for (;;) {
    const size_t comma = text.find(',');
    if (++count > kMaxCsvColumns) {
      fail(absl::StatusCode::kResourceExhausted, path,
           str_cat("line ", line, ": more than ", kMaxCsvColumns, " values"));
    }
    values.push_back(parse_number(path, line, text.substr(0, comma)));
    if (comma == std::string_view::npos) return count;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

CsvTable read_csv(const std::filesystem::path& path) {
  const std::string text = read_all(path);
  CsvTable table;
  std::string_view rest = text;
  for (size_t line = 1; !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (row.empty()) continue;
    const size_t count = parse_line(path, line, row, table.values);
    if (table.rows == 0) table.columns = count;
    if (count != table.columns) {
      fail(absl::StatusCode::kInvalidArgument, path,
           str_cat("line ", line, ": ", count, " values where the first line has ", table.columns));
    }
    ++table.rows;
  }
  return table;
}

}  // namespace remora::data
