#include "client/remote/options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "client/remote/channel.h"
#include "client/remote/worker_connection.h"
#include "gtest/gtest.h"
#include "tests/support/worker_process.h"

namespace remora::remote {
namespace {

/// A token file that goes away.
class TokenFile {
 public:
  explicit TokenFile(const std::string& content) { test::write_private(path_, content); }
  ~TokenFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("remora-token-test-" + std::to_string(getpid()));
};

TEST(RemoteOptions, remote_options_sources) {
  const TokenFile file(" from-a-file \n");
  setenv("REMORA_TOKEN_FILE", file.path().c_str(), 1);
  EXPECT_EQ(load_token("w:1", {})->text, "from-a-file");
  EXPECT_EQ(load_token("w:1", {})->source, "REMORA_TOKEN_FILE (" + file.path() + ")");
  unsetenv("REMORA_TOKEN_FILE");
  EXPECT_EQ(load_token("w:1", {})->text, "");
  RemoteOptions options;
  options.token_file = file.path();
  EXPECT_EQ(load_token("w:1", options)->text, "from-a-file");
  options.token = "direct";
  EXPECT_EQ(load_token("w:1", options)->text, "direct");
}

TEST(RemoteOptions, options_are_found_whatever_the_case_of_the_host) {
  RemoteOptions options;
  options.connect_deadline_ms = 1234;
  set_remote_options("Some-Host:7070", options);
  EXPECT_EQ(remote_options("some-host:7070").connect_deadline_ms, 1234);
  set_remote_options("unix:/Run/a.sock", options);
  EXPECT_NE(remote_options("unix:/run/a.sock").connect_deadline_ms, 1234);
}

TEST(RemoteOptions, a_bad_token_names_worker_option_and_file) {
  RemoteOptions options;
  options.token_file = "/nowhere/token";
  absl::Status status = load_token("w:1", options).status();
  EXPECT_EQ(
      status.message(),
      "worker w:1: the token of RemoteOptions::token_file (/nowhere/token) cannot be read: No "
      "such file or directory");
  for (const std::string& content :
       {std::string(), std::string(" \n"), std::string("two words"), std::string("caf\xc3\xa9"),
        std::string(wire::kMaxTokenBytes + 1, 'x')}) {
    const TokenFile file(content);
    options.token_file = file.path();
    status = load_token("w:1", options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << content.size();
    EXPECT_NE(status.message().find(file.path()), std::string::npos) << status;
  }
}

TEST(RemoteOptions, a_token_that_others_can_read_is_refused) {
  const TokenFile file("a-token-of-sixteen");
  chmod(file.path().c_str(), 0644);
  RemoteOptions options;
  options.token_file = file.path();
  const absl::Status status = load_token("w:1", options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(status.message().find("has mode 0644"), std::string::npos) << status;
}

TEST(RemoteOptions, plain_text_leaves_this_machine_only_when_told_so) {
  RemoteOptions options;
  for (const char* address :
       {"127.0.0.1:7070", "localhost:7070", "[::1]:7070", "unix:/run/remora.sock"}) {
    EXPECT_TRUE(check_privacy(address, options, std::nullopt).ok()) << address;
  }
  const absl::Status status = check_privacy("gpu-box:7070", options, std::nullopt);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("REMORA_INSECURE"), std::string::npos);
  EXPECT_NE(status.message().find("REMORA_TLS_CA"), std::string::npos);
  EXPECT_TRUE(check_privacy("gpu-box:7070", options, Tls()).ok());
  options.insecure = true;
  EXPECT_TRUE(check_privacy("gpu-box:7070", options, std::nullopt).ok());
}

TEST(RemoteOptions, a_worker_is_called_without_tls_where_none_is_said) {
  setenv("REMORA_TLS_CA", "/nowhere/ca.pem", 1);
  RemoteOptions options;
  EXPECT_EQ(load_tls("w:1", options).status().code(), absl::StatusCode::kNotFound);
  options.tls_ca = kNoCa;
  const auto none = load_tls("w:1", options);
  EXPECT_TRUE(none.ok() && !none->has_value());
  unsetenv("REMORA_TLS_CA");
  EXPECT_FALSE(load_tls("w:1", {})->has_value());
}

TEST(RemoteOptions, a_worker_has_one_connection_whatever_the_case_of_its_host) {
  EXPECT_EQ(&WorkerConnection::at("GPU-Box:7070"), &WorkerConnection::at("gpu-box:7070"));
  EXPECT_EQ(WorkerConnection::at("GPU-BOX:7070").address(), "gpu-box:7070");
  EXPECT_NE(&WorkerConnection::at("unix:/run/A"), &WorkerConnection::at("unix:/run/a"));
}

TEST(RemoteOptions, a_malformed_address_is_refused) {
  for (const char* address : {"", "host", "host:", ":7070", "host:0", "host:65536", "host:7x",
                              "::1:7070", "unix:", "host:-1"}) {
    EXPECT_EQ(check_address(address).code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST(RemoteOptions, remora_workers_default_address) {
  setenv("REMORA_WORKERS", "", 1);
  const absl::Status none = WorkerConnection::default_worker().status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(none.message().find("REMORA_WORKERS"), std::string::npos);
  setenv("REMORA_WORKERS", "127.0.0.1:7071,127.0.0.1:7072", 1);
  EXPECT_EQ((*WorkerConnection::default_worker())->address(), "127.0.0.1:7071");
  const std::vector<WorkerConnection*> all = WorkerConnection::environment_workers();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]->address(), "127.0.0.1:7072");
  unsetenv("REMORA_WORKERS");
}

}  // namespace
}  // namespace remora::remote
