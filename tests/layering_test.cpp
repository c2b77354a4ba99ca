// The directions between folders: which headers a file may include, by where it lies. CMake's
// targets enforce the same directions at link time; this test names the line.

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tree_files.h"

namespace remora::tree {
namespace {

// A library that is not ours, by the headers it is known by. A name that ends in '/' or '*' is a
// prefix.
struct Library {
  std::string_view name;
  std::vector<std::string_view> headers;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> list = {
      {"absl", {"absl/"}},
      {"xxhash", {"xxhash.h"}},
      {"build_info", {"remora_build_info.h"}},
      {"torch_table", {"opinfo_torch_table.h"}},
      {"grpc", {"grpc/", "grpcpp/", "remora/v1/worker.grpc.pb.h"}},
      {"protobuf", {"google/protobuf/", "remora/v1/worker.pb.h"}},
      {"blas", {"cblas.h", "openblas_config.h", "lapacke.h"}},
      {"fft", {"kissfft/"}},
      {"cuda",
       {"cuda*", "cublas*", "cudnn*", "curand*", "cufft*", "nccl*", "nvrtc*", "nvml*", "cub/"}},
      {"vulkan", {"vulkan/", "volk*", "shaderc/", "vkFFT*"}},
      {"cli11", {"CLI/"}},
      {"json", {"nlohmann/"}},
      {"toml", {"toml++/"}},
      {"spdlog", {"spdlog/", "fmt/"}},
      {"prometheus", {"prometheus/"}},
      {"httplib", {"httplib.h"}},
      {"openssl", {"openssl/"}},
      {"zlib", {"zlib.h"}},
      {"zip", {"zip.h"}},
      {"zstd", {"zstd.h"}},
      {"gtest", {"gtest/", "gmock/", "rapidcheck.h", "rapidcheck/"}},
      {"benchmark", {"benchmark/"}},
      {"python", {"Python.h", "pybind11/", "nanobind/"}},
  };
  return list;
}

// Headers of the C library and the kernel that any file may use, besides those of C++ (no dot, no
// slash).
const std::vector<std::string_view>& system_headers() {
  static const std::vector<std::string_view> list = {
      "sys/",     "gnu/",      "linux/",   "netinet/",  "arpa/",      "net/",        "cpuid.h",
      "dlfcn.h",  "errno.h",   "fcntl.h",  "glob.h",    "netdb.h",    "immintrin.h", "poll.h",
      "malloc.h", "pthread.h", "pwd.h",    "sched.h",   "signal.h",   "spawn.h",     "syslog.h",
      "time.h",   "unistd.h",  "limits.h", "termios.h", "execinfo.h", "link.h",
  };
  return list;
}

// What the files below a folder may include: names of libraries, and paths of ours as prefixes. The
// longest matching prefix decides. "*" allows every path of ours.
struct Rule {
  std::string_view files;
  std::vector<std::string_view> allowed;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list = [] {
    std::vector<Rule> rules = {
        {"dispatch/", {"dispatch/", "absl", "xxhash"}},
        {"dispatch/build_info.cpp", {"dispatch/", "absl", "xxhash", "build_info"}},
        {"kernels/", {"kernels/", "dispatch/", "absl", "xxhash"}},
        {"kernels/cpu/",
         {"kernels/cpu/", "kernels/expr_prelude/", "dispatch/", "absl", "blas", "fft"}},
        {"kernels/cuda/", {"kernels/cuda/", "kernels/expr_prelude/", "dispatch/", "absl", "cuda"}},
        {"kernels/vulkan/",
         {"kernels/vulkan/", "kernels/expr_prelude/", "dispatch/", "absl", "vulkan"}},
        {"proto/", {"proto/", "dispatch/", "absl", "xxhash", "protobuf", "openssl", "zstd"}},
        {"client/", {"client/", "dispatch/", "proto/", "absl", "xxhash", "json", "zstd"}},
        // The formats are built without the rest of the client; tensor_files joins them to tensors.
        {"client/io/",
         {"client/io/", "client/limits.h", "dispatch/", "absl", "json", "zlib", "zip"}},
        {"client/io/tensor_files", {"client/", "dispatch/", "absl"}},
        // The one place that names every backend of the build.
        {"client/register_backends.cpp",
         {"client/", "dispatch/", "kernels/register_backends.h", "absl"}},
        {"client/remote/",
         {"client/", "dispatch/", "proto/", "absl", "xxhash", "protobuf", "grpc", "openssl",
          "zstd"}},
        {"client/cli/", {"client/", "dispatch/", "proto/", "absl", "cli11", "json"}},
        // The bare gRPC round trip that figures are compared with.
        {"client/cli/bench",
         {"client/", "dispatch/", "proto/", "absl", "cli11", "json", "grpc", "protobuf"}},
        {"server/",
         {"server/", "dispatch/", "kernels/", "proto/", "client/remote/channel", "absl", "xxhash",
          "protobuf", "cli11", "json", "toml", "spdlog", "prometheus", "httplib", "openssl",
          "zstd"}},
        {"programs/",
         {"client/cli/commands.h", "client/remote/private_worker.h", "server/daemon.h",
          "tests/op_cases/device_check.h", "tests/opinfo/conformance.h"}},
        {"cmake/", {}},
        {"cmake/tsan_grpc.cpp", {"grpc"}},
        {"include/", {"client/", "dispatch/"}},
        {"examples/",
         {"remora/", "client/", "dispatch/", "examples/", "absl", "cli11", "json", "zlib"}},
        {"benchmarks/", {"*", "absl", "benchmark", "grpc", "protobuf", "json", "cli11", "blas"}},
        {"tests/",
         {"*", "absl", "xxhash", "gtest", "grpc", "protobuf", "json", "cli11", "zlib",
          "torch_table", "blas"}},
    };
    const auto is_server = [](const Rule& rule) { return rule.files == "server/"; };
    const auto server = std::find_if(rules.begin(), rules.end(), is_server)->allowed;
    for (std::string_view files :
         {"server/service", "server/peer", "server/endpoint", "server/auth"}) {
      rules.push_back({files, server});
      rules.back().allowed.push_back("grpc");
    }
    return rules;
  }();
  return list;
}

bool matches(std::string_view header, std::string_view pattern) {
  if (pattern.ends_with('*')) return header.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern.ends_with('/') ? header.starts_with(pattern) : header == pattern;
}

bool matches_any(std::string_view header, const std::vector<std::string_view>& patterns) {
  for (std::string_view pattern : patterns) {
    if (matches(header, pattern)) return true;
  }
  return false;
}

const Rule* rule_for(std::string_view path) {
  const Rule* best = nullptr;
  for (const Rule& rule : rules()) {
    if (path.starts_with(rule.files) && (!best || rule.files.size() > best->files.size()))
      best = &rule;
  }
  return best;
}

// Empty, or why `rule` forbids the header.
std::string refusal(const Rule& rule, std::string_view header) {
  auto is_allowed = [&](std::string_view name) {
    for (std::string_view allowed : rule.allowed) {
      if (allowed == name) return true;
    }
    return false;
  };
  for (const Library& library : libraries()) {
    if (matches_any(header, library.headers)) {
      return is_allowed(library.name)
                 ? ""
                 : std::string(library.name) + " is not for " + std::string(rule.files);
    }
  }
  static const std::set<std::string_view> folders = {"dispatch",   "kernels", "proto",    "client",
                                                     "server",     "remora",  "examples", "tests",
                                                     "benchmarks", "programs"};
  const size_t slash = header.find('/');
  if (slash != std::string_view::npos && folders.contains(header.substr(0, slash))) {
    if (is_allowed("*")) return "";
    for (std::string_view allowed : rule.allowed) {
      if (allowed.find('/') != std::string_view::npos && header.starts_with(allowed)) return "";
    }
    return std::string(rule.files) + " must not depend on it";
  }
  if (header.find_first_of("./") == std::string_view::npos || matches_any(header, system_headers()))
    return "";
  return "neither a path from the root of the checkout nor a library known to layering_test.cpp";
}

// One message per include that the folder of `file` forbids.
std::vector<std::string> forbidden_includes(const SourceFile& file) {
  static const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  const Rule* rule = rule_for(file.path);
  if (!rule) return {file.path + ": no rule for this folder in layering_test.cpp"};
  std::vector<std::string> messages;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    if (const std::string why = refusal(*rule, match[1].str()); !why.empty()) {
      messages.push_back(file.path + ":" + std::to_string(number) + ": " + match[1].str() + ": " +
                         why);
    }
  }
  return messages;
}

TEST(Layering, EveryIncludeOfTheTreeGoesInAnAllowedDirection) {
  const std::vector<SourceFile> files = source_files();
  ASSERT_GT(files.size(), 2u) << "nothing found under " << REMORA_SOURCE_DIR;
  for (const SourceFile& file : files) {
    for (const std::string& message : forbidden_includes(file)) ADD_FAILURE() << message;
  }
}

struct Planted {
  std::string path;
  std::string include;
};

TEST(Layering, APlantedViolationIsFound) {
  const std::vector<Planted> planted = {
      {"dispatch/op.cpp", "\"client/tensor.h\""},
      {"dispatch/op.cpp", "\"proto/limits.h\""},
      {"dispatch/op.cpp", "<nlohmann/json.hpp>"},
      {"dispatch/op.cpp", "\"shape.h\""},
      {"dispatch/op.cpp", "<surprise/library.h>"},
      {"dispatch/registry.cpp", "\"kernels/register_backends.h\""},
      {"kernels/cpu/matmul.cpp", "\"kernels/cuda/matmul.h\""},
      {"kernels/cpu/matmul.cpp", "\"client/tensor.h\""},
      {"kernels/cpu/matmul.cpp", "<cuda_runtime.h>"},
      {"kernels/register_backends.cpp", "<vulkan/vulkan.h>"},
      {"proto/records.cpp", "\"client/tensor.h\""},
      {"proto/records.h", "<grpcpp/grpcpp.h>"},
      {"client/tensor.cpp", "<grpcpp/grpcpp.h>"},
      {"client/tensor.cpp", "\"remora/v1/worker.grpc.pb.h\""},
      {"client/tensor.cpp", "\"server/session.h\""},
      {"client/tensor.cpp", "\"kernels/cpu/kernel.h\""},
      {"client/cli/commands.cpp", "<grpcpp/grpcpp.h>"},
      {"client/data/csv.cpp", "<zlib.h>"},
      {"client/io/idx_format.cpp", "\"client/tensor.h\""},
      {"server/session.cpp", "\"client/tensor.h\""},
      {"server/session.cpp", "\"client/remote/session.h\""},
      {"server/session.cpp", "<grpcpp/grpcpp.h>"},
      {"examples/digits/main.cpp", "\"server/session.h\""},
      {"tests/dispatch/op_test.cpp", "<cuda_runtime.h>"},
      {"somewhere/else.cpp", "<vector>"},
  };
  for (const Planted& plant : planted) {
    const SourceFile file = {plant.path, "// Prose.\n\n#  include " + plant.include + "\n"};
    EXPECT_THAT(forbidden_includes(file), testing::SizeIs(1))
        << plant.path << " includes " << plant.include;
  }
}

TEST(Layering, WhatTheDesignAllowsIsAllowed) {
  const std::vector<Planted> allowed = {
      {"dispatch/op.cpp", "<vector>"},
      {"dispatch/op.cpp", "<sys/mman.h>"},
      {"dispatch/op.cpp", "\"absl/strings/str_cat.h\""},
      {"dispatch/build_info.cpp", "\"remora_build_info.h\""},
      {"kernels/cpu/matmul.cpp", "<cblas.h>"},
      {"kernels/cpu/fft.cpp", "\"kissfft/kissfft.hh\""},
      {"client/register_backends.cpp", "\"kernels/register_backends.h\""},
      {"client/remote/channel.cpp", "<grpcpp/grpcpp.h>"},
      {"client/remote/channel.cpp", "\"remora/v1/worker.grpc.pb.h\""},
      {"client/cli/bench_wire.cpp", "<grpcpp/grpcpp.h>"},
      {"server/peer.cpp", "\"client/remote/channel.h\""},
      {"server/service_bulk.cpp", "<grpcpp/grpcpp.h>"},
      {"server/session.cpp", "\"remora/v1/worker.pb.h\""},
      {"examples/digits/main.cpp", "<remora/remora.h>"},
      {"tests/server/session_test.cpp", "\"server/session.h\""},
  };
  for (const Planted& plant : allowed) {
    EXPECT_THAT(forbidden_includes({plant.path, "#include " + plant.include + "\n"}),
                testing::IsEmpty());
  }
}

}  // namespace
}  // namespace remora::tree
