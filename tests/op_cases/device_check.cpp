#include "tests/op_cases/device_check.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <vector>

#include "CLI/CLI.hpp"
#include "dispatch/build_info.h"
#include "dispatch/device_state.h"
#include "dispatch/error.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"
#include "dispatch/submit.h"
#include "nlohmann/json.hpp"
#include "tests/support/values.h"
#if REMORA_REMOTE
#include "client/remote/private_worker.h"
#endif

namespace remora::test {
namespace {

using Json = nlohmann::ordered_json;

/// Of one device, told on stderr before the rest is only counted.
constexpr size_t kMaxFailuresShown = 20;

struct Options {
  std::vector<std::string> devices;
  bool no_worker = false;
  bool json = false;
};

/// What became of one device.
struct Outcome {
  std::string device;
  std::string name = {};   // of the hardware
  std::string error = {};  // why it could not be used at all
  size_t cases = 0;
  std::vector<std::string> failures = {};
  bool good() const { return error.empty() && failures.empty(); }
};

/// The devices of this machine, each by its text; a kind that was built but has none tells why.
std::vector<Outcome> local_devices() {
  std::vector<Outcome> found;
  for (const BackendKind kind : {BackendKind::kCuda, BackendKind::kVulkan, BackendKind::kCpu}) {
    const auto factory = dispatch::registry().factory(kind);
    if (!factory.ok()) continue;
    const absl::StatusOr<int> count = (*factory)->count();
    for (int i = 0; count.ok() && i < *count; ++i) {
      found.push_back({.device = i == 0 ? std::string(backend_name(kind))
                                        : str_cat(backend_name(kind), ":", i)});
    }
    if (!count.ok()) {
      std::fprintf(stderr, "%s: not tested: %s\n", std::string(backend_name(kind)).c_str(),
                   std::string(count.status().message()).c_str());
    }
  }
  return found;
}

void test_device(const Device& device, Outcome& outcome) {
  try {
    outcome.name = device.state().backend().info().name;
    for (const OpCase& op_case : op_cases()) {
      const std::string difference = reference_difference(device, op_case);
      ++outcome.cases;
      if (!difference.empty()) outcome.failures.push_back(op_case.title() + ": " + difference);
    }
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
}

/// Each of the devices through a worker of this program's own.
void test_through_worker(const std::vector<Outcome>& local, std::vector<Outcome>& outcomes) {
#if REMORA_REMOTE
  std::string devices;
  for (const Outcome& outcome : local) {
    if (outcome.error.empty()) devices += (devices.empty() ? "" : ",") + outcome.device;
  }
  if (devices.empty()) return;
  const auto worker =
      remote::PrivateWorker::start({.listen = "", .arguments = {"--devices", devices}});
  if (!worker.ok()) {
    outcomes.push_back(
        {.device = "a worker of " + devices, .error = std::string(worker.status().message())});
    return;
  }
  for (const Outcome& outcome : local) {
    if (!outcome.error.empty()) continue;
    Outcome through{.device = outcome.device + " through a worker"};
    test_device(Device::remote((*worker)->address(), outcome.device), through);
    outcomes.push_back(std::move(through));
  }
#else
  (void)local;
  (void)outcomes;
#endif
}

void show(const Outcome& outcome) {
  if (!outcome.error.empty()) {
    std::printf("%s: not usable: %s\n", outcome.device.c_str(), outcome.error.c_str());
    return;
  }
  std::printf("%s (%s): ", outcome.device.c_str(), outcome.name.c_str());
  std::printf("%zu of %zu cases equal the reference\n", outcome.cases - outcome.failures.size(),
              outcome.cases);
  std::fflush(stdout);
  for (size_t i = 0; i < std::min(outcome.failures.size(), kMaxFailuresShown); ++i) {
    std::fprintf(stderr, "%s: %s\n", outcome.device.c_str(), outcome.failures[i].c_str());
  }
  if (outcome.failures.size() > kMaxFailuresShown) {
    std::fprintf(stderr, "%s: and %zu more\n", outcome.device.c_str(),
                 outcome.failures.size() - kMaxFailuresShown);
  }
}

void show_json(const std::vector<Outcome>& outcomes) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) {
    list.push_back({{"device", outcome.device},
                    {"name", outcome.name},
                    {"ok", outcome.good()},
                    {"cases", outcome.cases},
                    {"failures", outcome.failures},
                    {"error", outcome.error}});
  }
  const Json report = {
      {"suite", "self-test"}, {"build", std::string(dispatch::build_version())}, {"devices", list}};
  std::printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

std::vector<Outcome> test_all(const Options& options) {
  std::vector<Outcome> outcomes;
  if (!options.devices.empty()) {
    for (const std::string& device : options.devices) outcomes.push_back({.device = device});
  } else {
    outcomes = local_devices();
  }
  for (Outcome& outcome : outcomes) {
    try {
      test_device(Device::parse(outcome.device), outcome);
    } catch (const Error& error) {
      outcome.error = error.what();
    }
  }
  if (options.devices.empty() && !options.no_worker) {
    const std::vector<Outcome> local = outcomes;
    test_through_worker(local, outcomes);
  }
  return outcomes;
}

}  // namespace

std::string reference_difference(const Device& device, const OpCase& op_case) {
  const reference::Arrays inputs = op_case.make_inputs();
  const Tolerance tolerance = tolerance_of(op_case.info(), op_case.dtype());
  const reference::Arrays expected = reference::evaluate(op_case.op, inputs, op_case.attrs);
  const reference::Arrays magnitudes =
      tolerance.relative == 0.0 ? expected
                                : reference::magnitudes(op_case.op, inputs, op_case.attrs);
  std::vector<dispatch::HostData> actual;
  try {
    actual = read_all(
        dispatch::submit(op_case.info().code, place_all(device, inputs), op_case.attrs, &device));
  } catch (const Error& error) {
    return error.what();
  }
  if (actual.size() != expected.size()) {
    return str_cat("gave ", actual.size(), " results, not ", expected.size());
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const std::string found = difference(actual[i], expected[i], tolerance, &magnitudes[i]);
    if (!found.empty()) return str_cat("output ", i, ": ", found);
  }
  return "";
}

int run_self_test(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Runs every operation on every device of this machine, directly and through a worker of its "
      "own, and compares the results with a reference that shares no code with the devices.",
      "remora self-test");
  app.footer("Exit codes: 0 all equal; 1 a result differs or a device cannot be used; 2 usage.");
  app.add_option("--device", options.devices,
                 "test this device alone, in its text form (more than one: repeat the option)");
  app.add_flag("--no-worker", options.no_worker, "leave out the pass through a worker");
  app.add_flag("--json", options.json, "print JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::vector<Outcome> outcomes = test_all(options);
  if (options.json) show_json(outcomes);
  if (!options.json) {
    for (const Outcome& outcome : outcomes) show(outcome);
    if (outcomes.empty()) std::fprintf(stderr, "remora self-test: no device to test\n");
  }
  const bool good = std::ranges::all_of(outcomes, &Outcome::good);
  return good && !outcomes.empty() ? 0 : 1;
}

}  // namespace remora::test
