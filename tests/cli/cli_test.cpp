// The `remora` program, run as a user runs it.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/certificates.h"
#include "tests/support/child_process.h"
#include "tests/support/worker_process.h"

namespace remora::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kToken = "a-token-of-the-tests-0123456789";

ProgramResult remora(std::vector<std::string> arguments,
                     const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), std::string(REMORA_BIN_DIR) + "/remora");
  return run_program(arguments, environment);
}

TEST(Cli, help_documents_the_exit_codes) {
  const ProgramResult result = remora({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const char* code : {" 1 failed", " 2 a mistake", "10 ", "11 ", "12 ", "13 ", "14 ", "15 "}) {
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
  ProgramResult result = remora({"ping", "no-such-host.invalid:7070", "--insecure"});
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

TEST(Cli, ping_tells_failures_of_tls_apart) {
  Certificates certificates;
  const std::string ca = certificates.authority("ca");
  const CertificateFiles own = certificates.issue(ca, "worker", kLoopbackNames);
  const CertificateFiles client = certificates.issue(ca, "alice", "");
  WorkerProcess worker(
      {.flags = {"--tls-cert", own.certificate, "--tls-key", own.key, "--tls-client-ca", ca},
       .tcp = true,
       .token = "",
       .tls = true});
  const auto ping = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"ping", worker.address(), "--count", "1"});
    return remora(flags);
  };
  ProgramResult result =
      ping({"--tls-ca", ca, "--tls-cert", client.certificate, "--tls-key", client.key});
  EXPECT_EQ(result.code, 0) << result.errors;
  for (const auto& [flags, reason] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "the worker speaks TLS"},
           {{"--tls-ca", ca}, "asks for a certificate"},
           {{"--tls-ca", certificates.authority("other")}, "not signed by the CA"},
           {{"--tls-ca", "/nowhere"}, "cannot be read"},
           {{"--tls-ca", ca, "--tls-cert", client.certificate}, "REMORA_TLS_KEY"}}) {
    result = ping(flags);
    EXPECT_EQ(result.code, 15) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("TLS"));
    EXPECT_THAT(result.errors, HasSubstr(reason));
  }
}

TEST(Cli, output_that_is_lost_is_an_error_and_leaves_no_token) {
  const std::string file = testing::TempDir() + "lost-token-" + std::to_string(getpid());
  const std::string tool = std::string(REMORA_BIN_DIR) + "/remora";
  const ProgramResult lost =
      run_program({"/bin/sh", "-c", tool + " token new alice --out " + file + " > /dev/full"}, {});
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.errors, HasSubstr("the output could not be written"));
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

TEST(Cli, token_new_makes_a_token_that_a_worker_takes) {
  const std::string file = testing::TempDir() + "token-" + std::to_string(getpid());
  std::filesystem::remove(file);
  const ProgramResult made = remora({"token", "new", "alice", "--out", file});
  ASSERT_EQ(made.code, 0) << made.errors;
  EXPECT_EQ(made.output.rfind("alice:", 0), 0u);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(remora({"token", "hash", "alice", file}).output, made.output);
  EXPECT_EQ(remora({"token", "new", "alice", "--out", file}).code, 1)
      << "the file is there already";
  EXPECT_EQ(remora({"token", "new", "two words"}).code, 2);

  const std::string tokens = file + "s";
  write_private(tokens, made.output);
  WorkerProcess worker({.flags = {"--token-file", tokens}, .tcp = true, .token = "", .tls = true});
  EXPECT_EQ(remora({"ping", worker.address(), "--count", "1", "--token-file", file}).code, 0);
  EXPECT_EQ(remora({"ping", worker.address(), "--count", "1", "--token-file", tokens}).code, 13);
  EXPECT_THAT(remora({"token", "new", "bob"}).output, HasSubstr("bob:"));
  std::filesystem::remove(file);
  std::filesystem::remove(tokens);
}

TEST(Cli, ping_measures_the_round_trip) {
  WorkerProcess worker({.flags = {"--devices", "cpu,cpu"}, .tcp = true, .token = kToken});
  const ProgramResult result = remora(
      {"ping", worker.address(), "--token-file", worker.token_file(), "--count", "20", "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json report = json::parse(result.output);
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["round_trip_us"]["n"], 20);
  EXPECT_GT(report["round_trip_us"]["median"], 0.0);
  EXPECT_EQ(report["devices"].size(), 2u);
  EXPECT_EQ(remora({"ping", worker.device(), "--token-file", worker.token_file()}).code, 0);
}

TEST(Cli, ping_health_needs_no_token_and_fails_where_nothing_serves) {
  WorkerProcess worker({.flags = {}, .tcp = true, .token = kToken});
  ProgramResult result = remora({"ping", worker.address(), "--health"}, {"REMORA_TOKEN_FILE="});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("serving"));
  result = remora({"ping", worker.address(), "--health", "--json"});
  EXPECT_EQ(json::parse(result.output)["health"], "SERVING");

  const std::string address = worker.address();
  worker.terminate();
  result = remora({"ping", address, "--health"});
  EXPECT_EQ(result.code, 11) << result.errors;
}

TEST(Cli, devices_lists_those_of_a_worker_as_a_program_names_them) {
  WorkerProcess worker({.flags = {"--devices", "cpu,cpu"}, .tcp = true, .token = kToken});
  const ProgramResult result =
      remora({"devices", worker.address(), "--token-file", worker.token_file(), "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const json report = json::parse(result.output);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[1]["device"], "remote://" + worker.address() + "/cpu:1");
}

TEST(Cli, bench_wire_measures_on_workers_of_its_own_beside_the_grpc_floor) {
  const ProgramResult result = remora({"bench", "wire", "--rounds", "1", "--json"});
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

std::string troubleshooting_headings() {
  std::ifstream file(std::string(REMORA_SOURCE_DIR) + "/docs/troubleshooting.md");
  std::string headings;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) headings += line + "\n";
  }
  return headings;
}

TEST(Doctor, every_finding_has_a_section_in_the_troubleshooting_page_and_what_is_missing_a_remedy) {
  const ProgramResult result = remora({"doctor", "--json"}, {"REMORA_WORKERS=", "REMORA_DEVICE="});
  EXPECT_EQ(result.code, 0) << result.output << result.errors;
  const json report = json::parse(result.output);
  EXPECT_TRUE(report["ok"]);
  const std::string headings = troubleshooting_headings();
  for (const json& finding : report["findings"]) {
    EXPECT_THAT(headings, HasSubstr("`" + finding["id"].get<std::string>() + "`"));
    EXPECT_NE(finding["detail"], "") << finding;
    if (finding["section"] == "gpu software" && finding["state"] != "ok") {
      EXPECT_NE(finding["remedy"], "") << finding;
    }
  }
}

/// The finding of that name, of a run that must have found a problem.
json problem(const std::string& id, const std::vector<std::string>& environment) {
  const ProgramResult result = remora({"doctor", "--json"}, environment);
  EXPECT_EQ(result.code, 1) << result.output;
  const json report = json::parse(result.output);
  EXPECT_FALSE(report["ok"]);
  for (const json& finding : report["findings"]) {
    if (finding["id"] == id && finding["state"] == "problem") return finding;
  }
  ADD_FAILURE() << "no problem " << id << " in " << result.output;
  return {};
}

TEST(Doctor, a_setting_that_does_not_work_is_a_problem_with_its_remedy) {
  EXPECT_THAT(problem("default-device", {"REMORA_DEVICE=abacus"})["detail"].get<std::string>(),
              HasSubstr("abacus"));
  EXPECT_THAT(problem("worker", {"REMORA_WORKERS=127.0.0.1:1"})["remedy"].get<std::string>(),
              HasSubstr("remora ping 127.0.0.1:1"));
  EXPECT_THAT(
      problem("token-file", {"REMORA_TOKEN_FILE=/nowhere/token"})["detail"].get<std::string>(),
      HasSubstr("/nowhere/token"));
  EXPECT_THAT(problem("token-file", {"REMORA_TOKEN_FILE=/"})["detail"].get<std::string>(),
              HasSubstr("no regular file"));
}

TEST(Doctor, a_worker_that_answers_is_ok) {
  WorkerProcess worker({.flags = {}, .tcp = true, .token = kToken});
  std::filesystem::permissions(worker.token_file(), std::filesystem::perms::owner_read);
  const ProgramResult result = remora({"doctor"}, {"REMORA_WORKERS=" + worker.address(),
                                                   "REMORA_TOKEN_FILE=" + worker.token_file()});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr(worker.address() + " answers"));
}

}  // namespace
}  // namespace remora::test
