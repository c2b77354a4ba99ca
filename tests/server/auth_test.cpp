// Who may call, and what may be served without a token.
#include "server/auth.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_session.h"

namespace remora::test {
namespace {

using server::Authenticator;
using server::ListenAddress;
using server::Options;
using server::parse_listen_address;
using testing::HasSubstr;
using testing::Not;

constexpr char kToken[] = "correct-horse-battery-staple";

class Tokens : public testing::Test {
 protected:
  grpc::Status describe_with(const std::string& token) {
    RawClient client(worker_.address(), token);
    v1::DescribeReply reply;
    return client.describe(reply);
  }

  WorkerProcess worker_{{.flags = {"--threads", "1"}, .tcp = true, .token = kToken}};
};

TEST_F(Tokens, the_right_token_is_let_in) {
  EXPECT_TRUE(describe_with(kToken).ok());
  RawClient client(worker_);
  RawSession session(client);
  EXPECT_EQ(session.sync().status().code(), 0u);
}

TEST_F(Tokens, every_call_without_the_token_is_refused_with_advice) {
  for (const std::string& token : {std::string(), std::string("wrong-wrong-wrong-wrong"),
                                   std::string(kToken) + "x", std::string(kToken).substr(1)}) {
    SCOPED_TRACE(token);
    RawClient client(worker_.address(), token);
    v1::DescribeReply description;
    const grpc::Status refused = client.describe(description);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(refused.error_message(), HasSubstr("REMORA_TOKEN_FILE"));
    EXPECT_EQ(description.devices_size(), 0);
    RawSession session(client);
    EXPECT_EQ(session.status().error_code(), grpc::StatusCode::UNAUTHENTICATED);
    v1::UploadReply reply;
    EXPECT_EQ(session.upload(client, session.chunks_of({1, 0}, "abc", 9), reply).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
    std::string bytes;
    EXPECT_EQ(session.download(client, 1, bytes).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(Tokens, the_log_names_refusals_and_no_token) {
  ASSERT_FALSE(describe_with("wrong-wrong-wrong-wrong").ok());
  ASSERT_TRUE(describe_with(kToken).ok());
  worker_.terminate();
  const std::string log = worker_.log();
  EXPECT_THAT(log, HasSubstr("refused: wrong token"));
  EXPECT_THAT(log, Not(HasSubstr("wrong-wrong")));
  EXPECT_THAT(log, Not(HasSubstr(kToken)));
}

TEST(UnixSocket, nobody_else_may_open_it_and_no_token_is_needed) {
  WorkerProcess worker;
  struct stat found {};
  ASSERT_EQ(stat(worker.address().substr(5).c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  RawClient client(worker);
  v1::DescribeReply reply;
  EXPECT_TRUE(client.describe(reply).ok());
}

TEST(UnixSocket, with_a_token_file_the_token_is_asked_for) {
  WorkerProcess worker({.token = kToken});
  v1::DescribeReply reply;
  EXPECT_EQ(RawClient(worker.address(), "").describe(reply).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(RawClient(worker).describe(reply).ok());
}

absl::Status policy(const std::string& listen, bool insecure, const std::string& token_file = "") {
  const absl::StatusOr<ListenAddress> address = parse_listen_address(listen);
  if (!address.ok()) return address.status();
  Options options;
  options.insecure = insecure;
  options.token_file = token_file;
  return Authenticator::create(options, *address).status();
}

class TokenFile {
 public:
  explicit TokenFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("token-" + std::to_string(getpid()))) {
    std::ofstream(path_) << content;
  }
  ~TokenFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(AuthPolicy, loopback_needs_a_token_or_insecure) {
  const TokenFile file(std::string(kToken) + "\n");
  for (const char* address : {"127.0.0.1:0", "127.3.2.1:80", "localhost:7070", "[::1]:7070"}) {
    SCOPED_TRACE(address);
    EXPECT_EQ(policy(address, false).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(policy(address, false).message()), HasSubstr("--token-file"));
    EXPECT_TRUE(policy(address, true).ok());
    EXPECT_TRUE(policy(address, false, file.path()).ok());
  }
}

TEST(AuthPolicy, other_addresses_are_refused_without_insecure_since_there_is_no_tls) {
  const TokenFile file(kToken);
  for (const char* address : {"0.0.0.0:0", "[::]:80", "10.0.0.1:7070", "example.org:7070"}) {
    SCOPED_TRACE(address);
    EXPECT_THAT(std::string(policy(address, false, file.path()).message()), HasSubstr("no TLS"));
    EXPECT_TRUE(policy(address, true, file.path()).ok());
  }
}

TEST(AuthPolicy, a_unix_socket_needs_nothing) {
  EXPECT_TRUE(policy("unix:/tmp/x.sock", false).ok());
}

TEST(AuthPolicy, token_files_that_hold_no_token_are_refused) {
  EXPECT_EQ(policy("127.0.0.1:0", false, "/nowhere/token").code(), absl::StatusCode::kNotFound);
  const TokenFile brief("short");
  EXPECT_EQ(policy("127.0.0.1:0", false, brief.path()).code(), absl::StatusCode::kInvalidArgument);
  const TokenFile words("several words are not a token");
  EXPECT_EQ(policy("127.0.0.1:0", false, words.path()).code(), absl::StatusCode::kInvalidArgument);
}

TEST(AuthPolicy, comparison_finds_every_difference) {
  EXPECT_TRUE(server::equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(server::equal_in_constant_time("", ""));
  EXPECT_FALSE(server::equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(server::equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(server::equal_in_constant_time("", "a"));
}

}  // namespace
}  // namespace remora::test
