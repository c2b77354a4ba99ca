// Window boundaries, replay, drops, threads and the wire change no bit: a random program run by two
// threads gives what its ops give one at a time, each flushed and read alone.
//
// REMORA_PROPERTY_CASES sets how many programs run, REMORA_PROPERTY_SEED runs that one alone.
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "dispatch/error.h"
#include "dispatch/submit.h"
#include "dispatch/transfer.h"
#include "tests/properties/random_program.h"
#include "tests/support/comparison.h"
#include "tests/support/device_variants.h"

namespace remora::test {
namespace {

using dispatch::Value;

constexpr uint64_t kDefaultCases = 2000;
constexpr uint64_t kFirstSeed = 1;

std::optional<uint64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

Outcome outcome_of(const Value& value) {
  try {
    return {absl::OkStatus(), dispatch::read(value)};
  } catch (const Error& error) {
    return {error.status(), {}};
  }
}

/// Every value of the program, each op in a window of its own, on one thread.
Outcomes run_op_by_op(const Program& program, const Device& device) {
  Outcomes outcomes;
  std::vector<Value> values(program.specs.size());
  for (const Step& step : program.steps) {
    if (step.kind == Step::Kind::kUpload) {
      values[step.values[0]] = dispatch::upload(device, reference::to_host(step.data));
    } else if (step.kind == Step::Kind::kOp) {
      std::vector<Value> operands;
      for (const uint32_t operand : step.operands) operands.push_back(values[operand]);
      const auto outputs = dispatch::submit(step.info->code, operands, step.attrs, &device);
      device.flush();
      for (size_t i = 0; i < outputs.size(); ++i) values[step.values[i]] = outputs[i];
    } else {
      continue;
    }
    for (const uint32_t value : step.values) outcomes[value] = outcome_of(values[value]);
  }
  return outcomes;
}

/// The program as it is written.
class TwoThreads {
 public:
  TwoThreads(const Program& program, const Device& device) : program_(program), device_(device) {}

  Outcomes run() {
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    Outcomes all = outcomes_[0];
    all.insert(outcomes_[1].begin(), outcomes_[1].end());
    return all;
  }

 private:
  void play(int thread) {
    std::vector<Value> held(program_.specs.size());
    for (const Step& step : program_.steps) {
      if (step.thread != thread) continue;
      switch (step.kind) {
        case Step::Kind::kUpload:
          keep(held, step.values[0], dispatch::upload(device_, reference::to_host(step.data)));
          break;
        case Step::Kind::kOp: {
          std::vector<Value> operands;
          for (const uint32_t operand : step.operands) operands.push_back(get(held, operand));
          auto outputs = dispatch::submit(step.info->code, operands, step.attrs, &device_);
          for (size_t i = 0; i < outputs.size(); ++i)
            keep(held, step.values[i], std::move(outputs[i]));
          break;
        }
        case Step::Kind::kDrop:
          held[step.values[0]].reset();
          break;
        case Step::Kind::kRead:
          outcomes_[thread][step.values[0]] = outcome_of(get(held, step.values[0]));
          break;
        case Step::Kind::kFlush:
          device_.flush();
          break;
      }
    }
  }

  void keep(std::vector<Value>& held, uint32_t value, Value made) {
    if (program_.is_shared[value]) {
      const absl::MutexLock lock(&mutex_);
      posted_[value] = made;
    }
    held[value] = std::move(made);
  }

  /// The thread's handle; taken from the other thread at the first use.
  const Value& get(std::vector<Value>& held, uint32_t value) {
    if (!held[value]) {
      const absl::MutexLock lock(&mutex_);
      const auto there = [&] { return posted_.contains(value); };
      mutex_.Await(absl::Condition(&there));
      held[value] = std::move(posted_[value]);
    }
    return held[value];
  }

  const Program& program_;
  const Device device_;
  std::array<Outcomes, kThreads> outcomes_;
  absl::Mutex mutex_;
  std::map<uint32_t, Value> posted_ ABSL_GUARDED_BY(mutex_);
};

/// Empty if equal. A worker adds its own words to an error, so only codes are compared then.
std::string outcome_difference(const Outcome& actual, const Outcome& expected, bool same_words) {
  const bool same_status = same_words ? actual.status == expected.status
                                      : actual.status.code() == expected.status.code();
  if (!same_status)
    return "is " + actual.status.ToString() + ", should be " + expected.status.ToString();
  return expected.status.ok() ? bit_difference(actual.data, expected.data) : "";
}

class RandomPrograms : public OnEveryDevice {
 protected:
  /// False at the first difference, which it reports.
  bool check(uint64_t seed) {
    const Program program = make_program(seed);
    const Outcomes expected = run_op_by_op(program, expected_on_);
    const Outcomes actual = TwoThreads(program, device()).run();
    for (const auto& [value, outcome] : actual) {
      const std::string wrong =
          outcome_difference(outcome, expected.at(value), device() == expected_on_);
      if (wrong.empty()) continue;
      ADD_FAILURE() << "replay with REMORA_PROPERTY_SEED=" << seed << ": v" << value << " " << wrong
                    << "\n"
                    << program.str();
      return false;
    }
    for (const auto& [value, outcome] : actual) ++(outcome.status.ok() ? values_ : errors_);
    return true;
  }

  // One op at a time is slow through a worker; where its bits are this machine's it is done here.
  const Device expected_on_ = same_fingerprint(device(), Device::cpu()) ? Device::cpu() : device();
  uint64_t values_ = 0;
  uint64_t errors_ = 0;
};

TEST_P(RandomPrograms, windows_and_threads_change_no_bit) {
  if (const auto seed = number_in("REMORA_PROPERTY_SEED")) {
    check(*seed);
    return;
  }
  const uint64_t cases = number_in("REMORA_PROPERTY_CASES").value_or(kDefaultCases);
  for (uint64_t i = 0; i < cases; ++i) {
    if (!check(kFirstSeed + i)) return;
  }
  EXPECT_GT(values_, cases * 5) << "programs read too little to show anything";
  EXPECT_GT(errors_, cases / 100) << "programs fail too seldom to show anything";
  EXPECT_GT(values_, 5 * errors_) << "programs fail too often to show anything";
}

TEST(RandomProgram, a_seed_gives_the_same_program_and_all_rows_take_part) {
  std::map<std::string_view, int> uses;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Program program = make_program(seed);
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::kOp) ++uses[step.info->name];
    }
    if (seed <= 20) {
      EXPECT_EQ(make_program(seed).str(), program.str());
    }
  }
  for (const dispatch::OpInfo& row : dispatch::catalogue()) {
    EXPECT_GT(uses[row.name], 0) << "no random program uses '" << row.name << "'";
  }
}

REMORA_ON_EVERY_DEVICE(RandomPrograms);

}  // namespace
}  // namespace remora::test
