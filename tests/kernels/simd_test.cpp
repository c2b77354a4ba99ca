// One program holds the kernels of every SIMD level: nothing of a level leaks into the rest, each
// level is the same device to its callers, and what a processor lacks is said by name.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "kernels/cpu/kernel_table.h"
#include "tests/kernels/cpu_device.h"

namespace remora::cpu {
namespace {

struct NamedLevel {
  std::string name;
};
const std::vector<NamedLevel> kLevels = {
#define SIMD_LEVEL(name, label) {#name},
#include "kernels/cpu/simd_levels.def"
#undef SIMD_LEVEL
};

/// The levels this processor has.
std::vector<std::string> available() {
  std::vector<std::string> names;
  for (const NamedLevel& level : kLevels) {
    if (choose_simd(level.name).ok()) names.push_back(level.name);
  }
  return names;
}

/// REMORA_SIMD for the time of a test.
class SimdVariable {
 public:
  explicit SimdVariable(const char* value) {
    if (const char* held = std::getenv("REMORA_SIMD")) before_ = held;
    setenv("REMORA_SIMD", value, 1);
  }
  ~SimdVariable() {
    if (before_) {
      setenv("REMORA_SIMD", before_->c_str(), 1);
    } else {
      unsetenv("REMORA_SIMD");
    }
  }
  SimdVariable(const SimdVariable&) = delete;
  SimdVariable& operator=(const SimdVariable&) = delete;

 private:
  std::optional<std::string> before_;
};

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    text.append(buffer, count);
  }
  return pclose(pipe) == 0 ? text : "";
}

std::vector<std::string> kernel_objects() {
  std::vector<std::string> paths;
  std::istringstream list(REMORA_KERNEL_OBJECTS);
  for (std::string path; std::getline(list, path, ':');) paths.push_back(path);
  return paths;
}

TEST(Simd, ALevelsObjectDefinesItsAccessorAndNoOtherGlobalOrWeakSymbol) {
  ASSERT_EQ(kernel_objects().size(), kLevels.size());
  for (const std::string& path : kernel_objects()) {
    std::istringstream symbols(output_of("nm -g --defined-only '" + path + "'"));
    std::vector<std::string> defined;
    for (std::string line; std::getline(symbols, line);) {
      if (!line.empty()) defined.push_back(line.substr(line.find_last_of(' ') + 1));
    }
    ASSERT_EQ(defined.size(), 1u) << path << ": " << testing::PrintToString(defined);
    EXPECT_NE(defined[0].find("kernels_"), std::string::npos) << defined[0];
    // A group would still be merged with its namesakes, whatever its symbols are.
    EXPECT_EQ(output_of("readelf -gW '" + path + "'").find("COMDAT"), std::string::npos) << path;
  }
}

TEST(Simd, NothingOfALevelRunsBeforeItIsChosen) {
  for (const std::string& path : kernel_objects()) {
    const std::string sections = output_of("readelf -SW '" + path + "'");
    ASSERT_NE(sections.find(".text"), std::string::npos) << path;
    for (const char* start : {".init_array", ".ctors", ".preinit_array"}) {
      EXPECT_EQ(sections.find(start), std::string::npos) << path << " has " << start;
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
/// Start-up code is taken out of a level's object, so it must do nothing that a kernel needs.
TEST(Simd, TheOnlyStartUpCodeOfALevelIsThatOfIostream) {
  for (const std::string& path : kernel_objects()) {
    std::istringstream code(output_of("objdump -dr --no-show-raw-insn '" + path + ".whole'"));
    bool starting = false;
    int started = 0;
    for (std::string line; std::getline(code, line);) {
      if (line.ends_with(">:")) starting = line.find("<_GLOBAL__sub_I") != std::string::npos;
      const size_t reference = line.find(": R_");
      if (!starting || reference == std::string::npos) continue;
      ++started;
      bool known = false;
      for (const char* part : {"ios_base4Init", "__dso_handle", "__cxa_atexit", ".bss"}) {
        known |= line.find(part, reference) != std::string::npos;
      }
      EXPECT_TRUE(known) << path << ": " << line;
    }
    EXPECT_GT(started, 0) << path << ": no start-up code was found to look at";
  }
}
#endif

TEST(Simd, TheLevelIsPartOfNameAndFingerprint) {
  std::set<std::string> fingerprints;
  for (const std::string& name : available()) {
    CpuDevice device({.threads = 1, .simd = name});
    const auto info = device.backend().info();
    const std::string label(choose_simd(name)->label);
    EXPECT_NE(info.name.find(label), std::string::npos) << info.name;
    EXPECT_NE(info.fingerprint.find("; " + label + ";"), std::string::npos) << info.fingerprint;
    EXPECT_TRUE(fingerprints.insert(info.fingerprint).second);
  }
  EXPECT_FALSE(fingerprints.empty());
}

TEST(Simd, TheVariableChoosesAndAnOptionGoesBeforeIt) {
  for (const std::string& name : available()) {
    const SimdVariable variable(name.c_str());
    EXPECT_EQ(choose_simd("")->name, name);
    for (const std::string& other : available()) EXPECT_EQ(choose_simd(other)->name, other);
  }
  const SimdVariable unset("");
  EXPECT_EQ(choose_simd("")->name, available().front());
}

TEST(Simd, AnUnknownLevelIsRefusedByName) {
  const SimdVariable variable("sse9");
  const auto opened = open_cpu(0);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(opened.status().message());
  EXPECT_NE(message.find("'sse9'"), std::string::npos) << message;
  for (const NamedLevel& level : kLevels) {
    EXPECT_NE(message.find(level.name), std::string::npos) << message;
  }
  EXPECT_EQ(backend_factory().count().status(), opened.status());
}

/// What numerics promises between fingerprints.
TEST(Simd, LevelsAgreeAsDevicesOfDifferentFingerprintsDo) {
  const std::vector<std::string> names = available();
  CpuDevice first({.threads = 1, .simd = names.front()});
  const auto values = first.read<float>(first.random({70, 301}, 3));
  const auto run = [&](CpuDevice& device, OpCode code, size_t inputs, const Attrs& attrs) {
    const Buffer x = device.upload<float>({70, 301}, values);
    return device.read<float>(device.run(code, std::vector<Buffer>(inputs, x), attrs)[0]);
  };
  for (const std::string& name : names) {
    CpuDevice device({.threads = 1, .simd = name});
    for (const OpCode code : {OpCode::add, OpCode::mul, OpCode::div}) {
      EXPECT_EQ(run(device, code, 2, dispatch::NoAttrs{}),
                run(first, code, 2, dispatch::NoAttrs{}));
    }
    const auto here = run(device, OpCode::exp, 1, dispatch::NoAttrs{});
    const auto there = run(first, OpCode::exp, 1, dispatch::NoAttrs{});
    for (size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(here[i], there[i], 5e-7F * there[i]);
    const dispatch::ReduceAttrs rows{{1}, false};
    const auto sums = run(device, OpCode::sum, 1, rows);
    const auto expected = run(first, OpCode::sum, 1, rows);
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected[i], 3e-3F);
  }
}

}  // namespace
}  // namespace remora::cpu
