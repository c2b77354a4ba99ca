// The `remora` program, run as a user runs it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/child_process.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kToken = "a-token-of-the-tests-0123456789";

struct Result {
  int code;
  std::string output;
  std::string errors;
};

Result remora(std::vector<std::string> arguments,
              const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), std::string(REMORA_BIN_DIR) + "/remora");
  ChildProcess process(arguments, environment);
  Result result;
  // Lines until the end of its output, which reads as an error.
  try {
    for (;;) result.output += process.read_line() + "\n";
  } catch (const std::runtime_error&) {
  }
  result.code = process.wait().code;
  result.errors = process.errors();
  return result;
}

TEST(Cli, help_documents_the_exit_codes) {
  const Result result = remora({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* code : {" 1 failed", " 2 a mistake", "10 ", "11 ", "12 ", "13 ", "14 "}) {
    EXPECT_THAT(result.output, HasSubstr(code));
  }
}

TEST(Cli, mistakes_on_the_command_line_exit_with_2) {
  EXPECT_EQ(remora({}).code, 2);
  EXPECT_EQ(remora({"sing"}).code, 2);
  EXPECT_EQ(remora({"ping", "127.0.0.1:1", "--count", "0"}).code, 2);
  EXPECT_EQ(remora({"ping", "no-port"}).code, 2);
  EXPECT_EQ(remora({"ping"}, {"REMORA_WORKERS="}).code, 2);
}

TEST(Cli, ping_names_the_layer_that_fails) {
  Result result = remora({"ping", "no-such-host.invalid:7070", "--insecure"});
  EXPECT_EQ(result.code, 10) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("name resolution"));

  result = remora({"ping", "unix:/nowhere/remora.sock"});
  EXPECT_EQ(result.code, 11) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("connection"));

  WorkerProcess worker({.flags = {}, .tcp = true, .token = kToken});
  result = remora({"ping", worker.address()}, {"REMORA_TOKEN_FILE="});
  EXPECT_EQ(result.code, 13) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("token"));
  result = remora({"ping", worker.address(), "--token-file", "/nowhere", "--json"});
  EXPECT_EQ(result.code, 13);
  EXPECT_EQ(json::parse(result.output)["failed_layer"], "token");
}

TEST(Cli, ping_measures_the_round_trip) {
  WorkerProcess worker({.flags = {"--devices", "cpu,cpu"}, .tcp = true, .token = kToken});
  const Result result = remora(
      {"ping", worker.address(), "--token-file", worker.token_file(), "--count", "20", "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json report = json::parse(result.output);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["round_trip_us"]["n"], 20);
  EXPECT_GT(report["round_trip_us"]["median"], 0.0);
  EXPECT_EQ(report["devices"].size(), 2u);
  EXPECT_EQ(remora({"ping", worker.device(), "--token-file", worker.token_file()}).code, 0);
}

TEST(Cli, devices_lists_those_of_a_worker_as_a_program_names_them) {
  WorkerProcess worker({.flags = {"--devices", "cpu,cpu"}, .tcp = true, .token = kToken});
  const Result result =
      remora({"devices", worker.address(), "--token-file", worker.token_file(), "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json report = json::parse(result.output);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[1]["device"], "remote://" + worker.address() + "/cpu:1");
}

TEST(Cli, bench_wire_measures_on_workers_of_its_own_beside_the_grpc_floor) {
  const Result result = remora({"bench", "wire", "--rounds", "1", "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json report = json::parse(result.output);
  EXPECT_EQ(report["suite"], "wire");
  for (const char* key : {"grpc_floor_us", "rtt_add4_tcp_us", "rtt_add4_unix_us", "eager_us_per_op",
                          "eager_caller_ns_per_op", "eager_wire_bytes_per_op"}) {
    ASSERT_TRUE(report["figures"].contains(key)) << key;
    EXPECT_EQ(report["figures"][key]["n"], 1);
    EXPECT_GT(report["figures"][key]["median"], 0.0);
  }
  EXPECT_LE(report["figures"]["eager_wire_bytes_per_op"]["median"], 24.0);
}

}  // namespace
}  // namespace remora::test
