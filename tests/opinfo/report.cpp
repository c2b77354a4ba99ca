#include "tests/opinfo/report.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/file_bytes.h"
#include "tests/opinfo/limits.h"

namespace remora::opinfo {
namespace {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnsupported:
      return "unsupported";
  }
  return "";
}

}  // namespace

absl::StatusOr<KnownFailures> read_known_failures(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxCaseFileBytes));
  KnownFailures known;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id;
    std::string reason;
    if (!(words >> id) || id.front() == '#') continue;
    std::getline(words >> std::ws, reason);
    if (reason.empty()) {
      return absl::InvalidArgumentError(str_cat(path.string(), ": ", id, " has no reason"));
    }
    if (!known.emplace(id, reason).second) {
      return absl::InvalidArgumentError(str_cat(path.string(), ": ", id, " stands twice"));
    }
  }
  return known;
}

void Report::add(const Case& sample, Outcome outcome) {
  if (outcome.verdict == Verdict::kPassed) ++(sample.must_fail ? error_passed_ : passed_);
  entries_.push_back({sample.id, sample.op, sample.must_fail, std::move(outcome)});
}

std::vector<std::pair<std::string, std::string>> Report::new_failures(
    const KnownFailures& known) const {
  std::vector<std::pair<std::string, std::string>> failures;
  for (const Entry& entry : entries_) {
    if (entry.outcome.verdict == Verdict::kFailed && !known.contains(entry.id)) {
      failures.emplace_back(entry.id, entry.outcome.reason);
    }
  }
  return failures;
}

std::vector<std::string> Report::repaired(const KnownFailures& known) const {
  std::vector<std::string> ids;
  for (const Entry& entry : entries_) {
    if (entry.outcome.verdict == Verdict::kPassed && known.contains(entry.id))
      ids.push_back(entry.id);
  }
  return ids;
}

std::vector<std::string> Report::ids(Verdict verdict, bool must_fail) const {
  std::vector<std::string> ids;
  for (const Entry& entry : entries_) {
    if (entry.outcome.verdict == verdict && entry.must_fail == must_fail) ids.push_back(entry.id);
  }
  return ids;
}

std::vector<std::string> Report::unsupported_ops() const {
  std::set<std::string> lacking;
  std::set<std::string> offered;
  for (const Entry& entry : entries_) {
    if (entry.outcome.lacks_op) lacking.insert(entry.op);
    if (entry.outcome.verdict != Verdict::kUnsupported) offered.insert(entry.op);
  }
  std::vector<std::string> ops;
  std::set_difference(lacking.begin(), lacking.end(), offered.begin(), offered.end(),
                      std::back_inserter(ops));
  return ops;
}

std::string Report::json() const {
  std::vector<std::string> unsupported = ids(Verdict::kUnsupported, false);
  const std::vector<std::string> unsupported_errors = ids(Verdict::kUnsupported, true);
  unsupported.insert(unsupported.end(), unsupported_errors.begin(), unsupported_errors.end());
  Json json;
  json["passed"] = passed_;
  json["failed"] = ids(Verdict::kFailed, false);
  json["unsupported"] = unsupported;
  json["unsupported_ops"] = unsupported_ops();
  json["error_passed"] = error_passed_;
  json["error_failed"] = ids(Verdict::kFailed, true);
  return json.dump();
}

std::string Report::text(bool verbose) const {
  const size_t failed = ids(Verdict::kFailed, false).size();
  const size_t error_failed = ids(Verdict::kFailed, true).size();
  const size_t unsupported = entries_.size() - passed_ - error_passed_ - failed - error_failed;
  const std::vector<std::string> ops = unsupported_ops();
  std::string text = absl::StrFormat(
      "answers: %d passed, %d failed\n"
      "refusals: %d passed, %d failed\n"
      "unsupported: %d cases; not offered at all are %d operators: %s\n",
      passed_, failed, error_passed_, error_failed, unsupported, ops.size(),
      absl::StrJoin(ops, ", "));
  if (!verbose) return text;
  for (const Entry& entry : entries_) {
    if (entry.outcome.verdict == Verdict::kPassed) continue;
    text += str_cat(verdict_name(entry.outcome.verdict), "  ", entry.id, "  ", entry.outcome.reason,
                    "\n");
  }
  return text;
}

std::string Report::answers() const {
  std::string text;
  for (const Entry& entry : entries_) {
    text +=
        absl::StrFormat("%s %s %016x\n", entry.id, std::string(verdict_name(entry.outcome.verdict)),
                        entry.outcome.answer_hash);
  }
  return text;
}

std::string answers_difference(const std::string& actual, const std::string& expected) {
  std::istringstream actual_lines(actual);
  std::istringstream expected_lines(expected);
  std::string a;
  std::string b;
  while (true) {
    const bool more = static_cast<bool>(std::getline(actual_lines, a));
    const bool more_expected = static_cast<bool>(std::getline(expected_lines, b));
    if (!more && !more_expected) return "";
    if (!more || !more_expected || a != b) {
      return str_cat("\"", more ? a : "(end)", "\", expected \"", more_expected ? b : "(end)",
                     "\"");
    }
  }
}

}  // namespace remora::opinfo
