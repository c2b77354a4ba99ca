#include "tests/opinfo/conformance.h"

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "dispatch/device.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "tests/opinfo/file_bytes.h"
#include "tests/opinfo/limits.h"
#include "tests/opinfo/report.h"
#if REMORA_REMOTE
#include "client/remote/private_worker.h"
#endif

namespace remora::opinfo {
namespace {

struct Options {
  std::string cases;
  std::string device = "cpu";
  std::string only;
  std::string known;
  std::string write_answers;
  std::string expect_answers;
  size_t min_passed = 0;
  bool through_worker = false;
  bool json = false;
  bool verbose = false;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--cases", options.cases, "Directory with cases.jsonl and tensors.safetensors")
      ->required();
  app.add_option("--device", options.device, "Device under test, in its text form")
      ->capture_default_str();
  app.add_flag("--through-worker", options.through_worker,
               "Start a private remorad and use its device of that name");
  app.add_option("--only", options.only, "Run only cases whose id begins with this");
  app.add_option("--known", options.known, "File of known failures: id, then the reason");
  app.add_option("--min-passed", options.min_passed, "Fail if fewer answers pass");
  app.add_option("--write-answers", options.write_answers,
                 "Write each case's verdict and answer bits here");
  app.add_option("--expect-answers", options.expect_answers,
                 "Fail unless verdicts and answer bits equal those another run wrote here");
  app.add_flag("--json", options.json, "Print the report as one line of JSON");
  app.add_flag("--verbose", options.verbose, "Print why each case did not pass");
}

/// Runs every wanted case. A terminal sees how far it is.
Report run_all(const Options& options, const CaseSet& set, const Runner& runner) {
  const bool show_progress = isatty(STDERR_FILENO) != 0;
  Report report;
  for (size_t i = 0; i < set.cases.size(); ++i) {
    const Case& sample = set.cases[i];
    if (sample.id.rfind(options.only, 0) != 0) continue;
    if (show_progress && i % 50 == 0)
      std::cerr << "\r" << i << " of " << set.cases.size() << std::flush;
    report.add(sample, runner.run(sample));
  }
  if (show_progress) std::cerr << "\r\033[K";
  return report;
}

/// True if nothing is wrong; says on stderr what is.
bool judge(const Options& options, const Report& report, const KnownFailures& known) {
  bool good = true;
  for (const auto& [id, reason] : report.new_failures(known)) {
    std::cerr << "failed: " << id << ": " << reason << "\n";
    good = false;
  }
  for (const std::string& id : report.repaired(known)) {
    std::cerr << "note: " << id << " is a known failure but passes: remove it from "
              << options.known << "\n";
  }
  if (report.passed() < options.min_passed) {
    std::cerr << report.passed() << " answers passed, but at least " << options.min_passed
              << " must\n";
    good = false;
  }
  if (!options.expect_answers.empty()) {
    const std::string expected =
        value_or_throw(read_file(options.expect_answers, kMaxCaseFileBytes));
    const std::string difference = answers_difference(report.answers(), expected);
    if (!difference.empty()) {
      std::cerr << "answers differ from " << options.expect_answers << ": " << difference << "\n";
      good = false;
    }
  }
  return good;
}

int run(const Options& options) {
  const CaseSet set = value_or_throw(read_cases(options.cases));
  const TorchTable table = value_or_throw(TorchTable::built_in());
  KnownFailures known;
  if (!options.known.empty()) known = value_or_throw(read_known_failures(options.known));

#if REMORA_REMOTE
  std::unique_ptr<remote::PrivateWorker> worker;
  if (options.through_worker) {
    worker = value_or_throw(
        remote::PrivateWorker::start({.listen = "", .arguments = {"--devices", options.device}}));
  }
  const Device device =
      worker ? Device::remote(worker->address(), options.device) : Device::parse(options.device);
#else
  if (options.through_worker) {
    throw Error(
        absl::FailedPreconditionError("--through-worker: this build has no remote devices"));
  }
  const Device device = Device::parse(options.device);
#endif
  const Report report = run_all(options, set, Runner(table, set.tensors, device));

  if (!options.write_answers.empty()) {
    std::ofstream(options.write_answers, std::ios::binary) << report.answers();
  }
  if (options.json) {
    std::cout << report.json() << "\n";
    if (options.verbose) std::cerr << report.text(true);
  } else {
    std::cout << report.text(options.verbose);
  }
  return judge(options, report, known) ? 0 : 1;
}

}  // namespace

int run_conformance(int argc, char** argv) {
  CLI::App app(
      "Runs samples of PyTorch's operators on a device and compares with PyTorch's own answers.");
  Options options;
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "opinfo_conformance: " << error.what() << "\n";
    return 2;
  }
}

}  // namespace remora::opinfo
