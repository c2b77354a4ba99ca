// Tables of numbers in text files, comma-separated, plain or gzipped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace remora::data {

/// Numbers in rows of one length, row-major.
struct CsvTable {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<float> values;

  std::span<const float> row(size_t index) const {
    return std::span(values).subspan(index * columns, columns);
  }
};

/// Reads a file of numbers without a header; blank lines are skipped. Throws NOT_FOUND, or what
/// else the system says, if it cannot be opened, INVALID_ARGUMENT naming file, line and value for
/// what is no number or a row of another length and for what is no regular file, DATA_LOSS for a
/// broken gzip stream, and RESOURCE_EXHAUSTED beyond the limits of client/limits.h.
CsvTable read_csv(const std::filesystem::path& path);

}  // namespace remora::data
