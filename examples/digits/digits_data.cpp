#include "examples/digits/digits_data.h"

#include <cmath>

#include "client/data/csv.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::digits {

namespace {

constexpr size_t kPixels = 64;
constexpr size_t kTestImages = 360;
constexpr uint64_t kSplitSeed = 1797;
constexpr float kWhite = 16.0F;

void check(bool good, const std::filesystem::path& path, const std::string& message) {
  if (!good) throw Error(absl::InvalidArgumentError(str_cat(path.string(), ": ", message)));
}

data::TensorDataset subset(const data::CsvTable& table, std::span<const int64_t> rows) {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  for (const int64_t index : rows) {
    const std::span<const float> row = table.row(static_cast<size_t>(index));
    for (size_t i = 0; i < kPixels; ++i) pixels.push_back(row[i] / kWhite);
    labels.push_back(static_cast<int64_t>(row[kPixels]));
  }
  return data::TensorDataset(std::move(pixels), {1, 8, 8}, std::move(labels));
}

}  // namespace

DigitsData load_digits(const std::filesystem::path& path) {
  const data::CsvTable table = data::read_csv(path);
  check(table.columns == kPixels + 1, path, str_cat(table.columns, " columns; there must be 65"));
  check(table.rows > kTestImages, path, str_cat("only ", table.rows, " images"));
  for (size_t i = 0; i < table.rows; ++i) {
    const float label = table.row(i)[kPixels];
    check(label >= 0 && label <= 9 && label == std::floor(label), path,
          str_cat("image ", i + 1, " has the label ", label));
  }
  const auto order = data::shuffled_indices(static_cast<int64_t>(table.rows), kSplitSeed);
  const std::span<const int64_t> rows(order);
  return {subset(table, rows.subspan(kTestImages)), subset(table, rows.first(kTestImages))};
}

}  // namespace remora::digits
