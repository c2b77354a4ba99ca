#include "examples/digits/table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/strings/str_format.h"

namespace remora::digits {

namespace {

using Row = std::array<std::string, 3>;

std::string per_step(double total, const SteadyState& steady, int decimals = 2) {
  return absl::StrFormat("%.*f", decimals, total / steady.steps);
}

std::string plan_hits(const SteadyState& steady) {
  const double runs = steady.plan_hits + steady.plan_misses;
  return runs > 0 ? absl::StrFormat("%.1f %%", 100.0 * steady.plan_hits / runs) : "-";
}

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

template <typename Cell>
Row row(std::string name, const TrainingResult& remote, const TrainingResult& local, Cell cell) {
  return {std::move(name), cell(remote), cell(local)};
}

/// A frame with no run in it holds reads alone, and every window is one run. Reads that ride with a
/// run are not told apart from those that do not, so this is the most that can have been more than
/// reads.
double frames_besides_reads(const SteadyState& steady) {
  return std::min(steady.frames, std::max(steady.windows, steady.frames - steady.reads));
}

/// A cell of the wire, which a device of this machine does not use.
template <typename Cell>
Row wire_row(std::string name, const TrainingResult& remote, const TrainingResult& local,
             Cell cell) {
  return row(std::move(name), remote, local, [&](const TrainingResult& result) {
    return result.device.is_remote() ? cell(result.steady) : std::string("-");
  });
}

}  // namespace

Agreement compare_losses(const TrainingResult& remote, const TrainingResult& local) {
  if (remote.fingerprint != local.fingerprint) return Agreement::kNotComparable;
  const bool same = remote.losses.size() == local.losses.size() &&
                    std::memcmp(remote.losses.data(), local.losses.data(),
                                local.losses.size() * sizeof(float)) == 0;
  return same ? Agreement::kYes : Agreement::kNo;
}

std::string format_table(const TrainingResult& remote, const TrainingResult& local,
                         Agreement agreement) {
  const std::vector<Row> rows = {
      row("", remote, local, [](const TrainingResult& r) { return r.device.str(); }),
      row("test accuracy", remote, local,
          [](const TrainingResult& r) { return absl::StrFormat("%.2f %%", 100.0 * r.accuracy); }),
      row("losses bit-identical", remote, local,
          [&](const TrainingResult& r) { return agreement_text(agreement, r.losses.size()); }),
      row("steps/s", remote, local,
          [](const TrainingResult& r) {
            return absl::StrFormat("%.0f", r.steady.steps / r.steady.seconds);
          }),
      wire_row("wire bytes per step", remote, local,
               [](const SteadyState& s) { return per_step(s.wire_bytes, s, 0); }),
      wire_row("frames per step", remote, local,
               [](const SteadyState& s) { return per_step(s.frames, s); }),
      wire_row("frames per step besides reads", remote, local,
               [](const SteadyState& s) { return per_step(frames_besides_reads(s), s); }),
      wire_row("round trips per step", remote, local,
               [](const SteadyState& s) { return per_step(s.round_trips, s); }),
      row("plan hits", remote, local, [](const TrainingResult& r) { return plan_hits(r.steady); }),
  };
  std::array<int, 3> widths{};
  for (const Row& cells : rows) {
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<int>(cells[i].size()));
  }
  std::string text;
  for (const Row& cells : rows) {
    absl::StrAppendFormat(&text, "%-*s  %*s  %*s\n", widths[0], cells[0], widths[1], cells[1],
                          widths[2], cells[2]);
  }
  return text;
}

}  // namespace remora::digits
