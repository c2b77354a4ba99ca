// The 20 functions of NumPy's umath validation tables (python3-numpy), f32 and f64, within the ULP
// bounds that NumPy sets itself; and the worst error of each, for docs/accuracy.md.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "remora/remora.h"

namespace remora {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/usr/lib/python3/dist-packages/numpy/core/tests/data";

using Function = Tensor (*)(const Tensor&);

/// By NumPy's name.
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = {
      {"arccos", &acos}, {"arccosh", &acosh}, {"arcsin", &asin}, {"arcsinh", &asinh},
      {"arctan", &atan}, {"arctanh", &atanh}, {"cbrt", &cbrt},   {"cos", &cos},
      {"cosh", &cosh},   {"exp", &exp},       {"exp2", &exp2},   {"expm1", &expm1},
      {"log", &log},     {"log10", &log10},   {"log1p", &log1p}, {"log2", &log2},
      {"sin", &sin},     {"sinh", &sinh},     {"tan", &tan},     {"tanh", &tanh}};
  return table;
}

/// The rows of one element type of a table, as bits.
struct Rows {
  std::vector<uint64_t> inputs, outputs;
  int64_t bound = 0;  // NumPy takes the largest of the column for all rows
};

/// By "f32" and "f64".
std::map<std::string, Rows> read_table(const fs::path& path) {
  std::map<std::string, Rows> result;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line[0] == '$') continue;
    std::istringstream cells(line);
    std::string dtype, input, output, bound;
    std::getline(cells, dtype, ',');
    std::getline(cells, input, ',');
    std::getline(cells, output, ',');
    std::getline(cells, bound, ',');
    Rows& rows = result[dtype == "np.float64" ? "f64" : "f32"];
    rows.inputs.push_back(std::stoull(input, nullptr, 16));
    rows.outputs.push_back(std::stoull(output, nullptr, 16));
    rows.bound = std::max<int64_t>(rows.bound, std::stoll(bound));
  }
  return result;
}

template <typename T, typename Bits>
std::vector<T> as_numbers(const std::vector<uint64_t>& bits) {
  std::vector<T> result;
  for (const uint64_t number : bits) result.push_back(std::bit_cast<T>(static_cast<Bits>(number)));
  return result;
}

/// How many numbers lie between two of one type; both zeros are one number, and so is every NaN.
template <typename T, typename Signed>
int64_t distance(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto place = [](T x) {
    const auto bits = std::bit_cast<Signed>(x);
    return bits < 0 ? std::numeric_limits<Signed>::min() - bits : bits;
  };
  const auto ordered_a = static_cast<__int128>(place(a));
  const auto ordered_b = static_cast<__int128>(place(b));
  const __int128 gap = ordered_a < ordered_b ? ordered_b - ordered_a : ordered_a - ordered_b;
  return gap > INT64_MAX ? INT64_MAX : static_cast<int64_t>(gap);
}

template <typename T, typename Signed>
int64_t worst_distance(Function function, const Rows& rows) {
  using Bits = std::make_unsigned_t<Signed>;
  const std::vector<T> inputs = as_numbers<T, Bits>(rows.inputs);
  const Shape shape = {static_cast<int64_t>(inputs.size())};
  const std::vector<T> expected = as_numbers<T, Bits>(rows.outputs);
  const std::vector<T> actual = function(from_data(inputs, shape)).template to_vector<T>();
  int64_t worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, distance<T, Signed>(actual[i], expected[i]));
  }
  return worst;
}

constexpr const char* kHead = R"(# Accuracy of functions

The worst distance from the correctly rounded result, in units in the last place, over NumPy's validation tables
(`umath-validation-set-*.csv` of python3-numpy: some 700 numbers a function and type, special values and denormals among them), beside
the bound that NumPy sets itself. `accuracy_test` checks the bounds; `REMORA_UPDATE_DOCS=1 build/release/bin/accuracy_test`
writes this table. What holds of every function is in [numerics.md](numerics.md).

| function | f32 | NumPy's bound | f64 | NumPy's bound |
|---|---|---|---|---|
)";

TEST(accuracy, numpys_tables_are_met_within_numpys_bounds) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "python3-numpy is not there: no " << kFolder;
  std::string text = kHead;
  for (const auto& [name, function] : functions()) {
    const std::map<std::string, Rows> table =
        read_table(fs::path(kFolder) / ("umath-validation-set-" + name + ".csv"));
    ASSERT_EQ(table.size(), 2U) << name;
    const Rows &single = table.at("f32"), &wide = table.at("f64");
    ASSERT_GT(single.inputs.size(), 100U) << name;
    const int64_t single_worst = worst_distance<float, int32_t>(function, single);
    const int64_t wide_worst = worst_distance<double, int64_t>(function, wide);
    EXPECT_LE(single_worst, single.bound) << name << " of f32";
    EXPECT_LE(wide_worst, wide.bound) << name << " of f64";
    text += "| " + name + " | " + std::to_string(single_worst) + " | " +
            std::to_string(single.bound) + " | " + std::to_string(wide_worst) + " | " +
            std::to_string(wide.bound) + " |\n";
  }
  if (std::getenv("REMORA_UPDATE_DOCS") != nullptr) {
    std::ofstream(REMORA_SOURCE_DIR "/docs/accuracy.md", std::ios::binary) << text;
  }
}

}  // namespace
}  // namespace remora
