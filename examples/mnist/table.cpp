#include "examples/mnist/table.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "absl/strings/str_format.h"

namespace remora::mnist {

namespace {

using Cell = std::function<std::string(const TrainingResult&)>;
struct Row {
  std::string name;
  Cell cell;
};

std::string percent(double part) { return absl::StrFormat("%.2f %%", 100.0 * part); }

std::string agreement_text(Agreement agreement, size_t steps) {
  switch (agreement) {
    case Agreement::kYes:
      return absl::StrFormat("yes, all %d", steps);
    case Agreement::kNo:
      return "no";
    case Agreement::kNotComparable:
      return "not comparable";
  }
  return "?";
}

/// A figure of the wire, which a device of this machine does not use.
Row wire_row(std::string name, double SteadyState::*total, int decimals) {
  return {std::move(name), [=](const TrainingResult& result) {
            if (!result.device.is_remote()) return std::string("-");
            return absl::StrFormat("%.*f", decimals, result.steady.*total / result.steady.steps);
          }};
}

std::vector<Row> make_rows(std::span<const TrainingResult> results) {
  std::vector<Row> rows = {
      {"", [](const TrainingResult& r) { return r.device.str(); }},
      {"test accuracy", [](const TrainingResult& r) { return percent(r.accuracies.back()); }}};
  if (results.size() == 2) {
    const Agreement agreement = compare_losses(results[0], results[1]);
    rows.push_back({"losses bit-identical", [agreement](const TrainingResult& r) {
                      return agreement_text(agreement, r.losses.size());
                    }});
  }
  rows.push_back(
      {"seconds", [](const TrainingResult& r) { return absl::StrFormat("%.0f", r.seconds); }});
  rows.push_back({"steps/s", [](const TrainingResult& r) {
                    return absl::StrFormat("%.0f", r.steady.steps / r.steady.seconds);
                  }});
  rows.push_back(wire_row("wire bytes per step", &SteadyState::wire_bytes, 0));
  rows.push_back(wire_row("frames per step", &SteadyState::frames, 2));
  rows.push_back(wire_row("round trips per step", &SteadyState::round_trips, 2));
  rows.push_back({"plan hits", [](const TrainingResult& r) {
                    const double runs = r.steady.plan_hits + r.steady.plan_misses;
                    return runs > 0 ? absl::StrFormat("%.1f %%", 100.0 * r.steady.plan_hits / runs)
                                    : "-";
                  }});
  return rows;
}

}  // namespace

Agreement compare_losses(const TrainingResult& one, const TrainingResult& other) {
  if (one.fingerprint != other.fingerprint) return Agreement::kNotComparable;
  const bool same =
      one.losses.size() == other.losses.size() &&
      std::memcmp(one.losses.data(), other.losses.data(), one.losses.size() * sizeof(float)) == 0;
  return same ? Agreement::kYes : Agreement::kNo;
}

std::string format_table(std::span<const TrainingResult> results) {
  std::vector<std::vector<std::string>> lines;
  std::vector<int> widths(results.size() + 1, 0);
  for (const Row& row : make_rows(results)) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(row.name);
    for (const TrainingResult& result : results) line.push_back(row.cell(result));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], static_cast<int>(line[i].size()));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    absl::StrAppendFormat(&text, "%-*s", widths[0], line[0]);
    for (size_t i = 1; i < line.size(); ++i) {
      absl::StrAppendFormat(&text, "  %*s", widths[i], line[i]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace remora::mnist
