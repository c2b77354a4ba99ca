// What a run of all cases found, and how it is told: as JSON, as text, and as a list of answers
// that two runs can be compared by.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tests/opinfo/runner.h"

namespace remora::opinfo {

/// Failures that are known, with the reason for each.
using KnownFailures = absl::flat_hash_map<std::string, std::string>;

/// Reads lines of `id  reason`; blank lines and lines that start with # are skipped.
/// INVALID_ARGUMENT for an id without a reason or given twice.
absl::StatusOr<KnownFailures> read_known_failures(const std::filesystem::path& path);

class Report {
 public:
  void add(const Case& sample, Outcome outcome);

  size_t passed() const { return passed_; }
  /// Failed ids, error cases included, that are not among `known`, each with its reason.
  std::vector<std::pair<std::string, std::string>> new_failures(const KnownFailures& known) const;
  /// Known ids that passed.
  std::vector<std::string> repaired(const KnownFailures& known) const;

  /// {"passed": N, "failed": [ids], "unsupported": [ids], "unsupported_ops": [ops], "error_passed":
  /// N, "error_failed": [ids]}
  std::string json() const;
  /// Counts, and each failure with its reason if `verbose`.
  std::string text(bool verbose) const;

  /// One line per case: id, verdict, hash of the answers' bits. Equal lists mean equal bits.
  std::string answers() const;

 private:
  struct Entry {
    std::string id;
    std::string op;
    bool must_fail;
    Outcome outcome;
  };
  std::vector<std::string> ids(Verdict verdict, bool must_fail) const;
  /// Operators that are not offered for any of their cases; sorted.
  std::vector<std::string> unsupported_ops() const;

  std::vector<Entry> entries_;
  size_t passed_ = 0;
  size_t error_passed_ = 0;
};

/// Empty if the two lists of answers are equal; else the first line that differs.
std::string answers_difference(const std::string& actual, const std::string& expected);

}  // namespace remora::opinfo
