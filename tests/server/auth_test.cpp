// Who may call, who that is, and what may be served without credentials.
#include "server/auth.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/limits.h"
#include "tests/server/raw_session.h"
#include "tests/support/certificates.h"

namespace remora::test {
namespace {

using server::Authenticator;
using server::ListenAddress;
using server::Options;
using server::parse_listen_address;
using testing::HasSubstr;
using testing::Not;

const std::string kToken = "correct-horse-battery-staple";

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
  for (const std::string& token :
       {std::string(), std::string("wrong-wrong-wrong-wrong"), kToken + "x", kToken.substr(1)}) {
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
  EXPECT_THAT(log, HasSubstr("refused: the token is not one this worker knows"));
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

/// A file of this mode that goes away.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& content, mode_t mode = 0600)
      : path_(std::filesystem::temp_directory_path() / ("tokens-" + std::to_string(getpid()))) {
    std::ofstream(path_) << content;
    chmod(path_.c_str(), mode);
  }
  ~PrivateFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(AuthPolicy, loopback_needs_a_token_or_insecure) {
  const PrivateFile file(token_line("alice", kToken));
  for (const char* address : {"127.0.0.1:0", "127.3.2.1:80", "localhost:7070", "[::1]:7070"}) {
    SCOPED_TRACE(address);
    EXPECT_EQ(policy(address, false).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(policy(address, false).message()), HasSubstr("--token-file"));
    EXPECT_TRUE(policy(address, true).ok());
    EXPECT_TRUE(policy(address, false, file.path()).ok());
  }
}

TEST(AuthPolicy, other_addresses_need_tls_and_a_token_or_certificate_or_insecure) {
  const PrivateFile file(token_line("alice", kToken));
  Certificates certificates;
  const std::string ca = certificates.authority("ca");
  const CertificateFiles own = certificates.issue(ca, "worker", kLoopbackNames);
  for (const char* text : {"0.0.0.0:0", "[::]:80", "10.0.0.1:7070", "example.org:7070"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(std::string(policy(text, false, file.path()).message()), HasSubstr("--tls-cert"));
    EXPECT_TRUE(policy(text, true, file.path()).ok());
    const ListenAddress address = *parse_listen_address(text);
    Options options;
    options.tls_certificate = own.certificate;
    options.tls_key = own.key;
    absl::Status status = Authenticator::create(options, address).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("--tls-client-ca"));
    options.token_file = file.path();
    EXPECT_TRUE(Authenticator::create(options, address).ok());
    options.token_file.clear();
    options.tls_client_ca = ca;
    EXPECT_TRUE(Authenticator::create(options, address).ok());
  }
}

TEST(AuthPolicy, a_unix_socket_needs_nothing) {
  EXPECT_TRUE(policy("unix:/tmp/x.sock", false).ok());
}

TEST(AuthPolicy, tls_files_that_do_not_fit_name_their_option) {
  Certificates certificates;
  const std::string ca = certificates.authority("ca");
  const CertificateFiles own = certificates.issue(ca, "worker", kLoopbackNames);
  const CertificateFiles other = certificates.issue(ca, "other", kLoopbackNames);
  const auto create = [](const std::string& listen, const std::string& certificate,
                         const std::string& key, const std::string& client_ca) {
    Options options;
    options.insecure = true;
    options.tls_certificate = certificate;
    options.tls_key = key;
    options.tls_client_ca = client_ca;
    const absl::Status status =
        Authenticator::create(options, *parse_listen_address(listen)).status();
    return std::string(status.message());
  };
  constexpr char kTcp[] = "127.0.0.1:0";
  EXPECT_EQ(create(kTcp, own.certificate, own.key, ca), "");
  EXPECT_THAT(create(kTcp, own.certificate, "", ""), HasSubstr("--tls-key is missing"));
  EXPECT_THAT(create(kTcp, "", own.key, ""), HasSubstr("--tls-cert is missing"));
  EXPECT_THAT(create(kTcp, "", "", ca), HasSubstr("--tls-cert is missing"));
  EXPECT_THAT(create(kTcp, own.certificate, other.key, ""), HasSubstr("is not the key"));
  EXPECT_THAT(create(kTcp, own.key, own.key, ""),
              HasSubstr("--tls-cert '" + own.key + "' holds no certificate"));
  ASSERT_EQ(chmod(own.certificate.c_str(), 0644), 0);  // whatever this user's umask is
  EXPECT_THAT(create(kTcp, own.certificate, own.certificate, ""), HasSubstr("has mode 0644"));
  EXPECT_THAT(create(kTcp, own.certificate, own.key, "/nowhere"), HasSubstr("--tls-client-ca"));
  EXPECT_THAT(create("unix:/tmp/x.sock", own.certificate, own.key, ""),
              HasSubstr("a unix socket is not encrypted"));
}

TEST(AuthPolicy, token_files_that_hold_no_tokens_are_refused_with_the_line) {
  const auto message = [](const std::string& path) {
    return std::string(policy("127.0.0.1:0", false, path).message());
  };
  EXPECT_THAT(message("/nowhere/token"), HasSubstr("No such file"));
  EXPECT_THAT(message(std::filesystem::temp_directory_path()), HasSubstr("is a folder"));
  const std::string good = token_line("alice", kToken);
  for (const auto& [content, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "holds no token"},
           {"# nothing\n\n", "holds no token"},
           {kToken, "line 1 is not NAME:SHA256"},
           {good + "bob:abc\n", "line 2 is not"},
           {good + "two words:" + good.substr(6), "line 2 is not"},
           {":" + good.substr(6), "line 1 is not"}}) {
    const PrivateFile file(content);
    EXPECT_THAT(message(file.path()), HasSubstr(part)) << content;
    EXPECT_THAT(message(file.path()), Not(HasSubstr(kToken)));
  }
  const PrivateFile large(std::string(server::kMaxTokenFileBytes + 1, '#'));
  EXPECT_THAT(message(large.path()), HasSubstr("holds more than"));
}

TEST(AuthPolicy, a_token_file_that_others_can_read_is_refused) {
  for (const mode_t mode : {0604, 0640, 0620}) {
    const PrivateFile file(token_line("alice", kToken), mode);
    EXPECT_EQ(policy("127.0.0.1:0", false, file.path()).code(),
              absl::StatusCode::kPermissionDenied);
  }
  const PrivateFile file(token_line("alice", kToken), 0400);
  EXPECT_TRUE(policy("127.0.0.1:0", false, file.path()).ok());
}

TEST(AuthPolicy, a_pipe_is_refused_and_not_waited_for) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("pipe-" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(std::string(policy("127.0.0.1:0", false, path).message()), HasSubstr("is a pipe"));
  std::filesystem::remove(path);
}

TEST(TokenFiles, a_token_names_its_identity) {
  const std::string other = "another-token-of-the-tests-0123";
  const PrivateFile file("# tokens\n" + token_line("alice", kToken) + "\n" +
                         token_line("bob@lab", other) + token_line("alice", kToken + other));
  Options options;
  options.token_file = file.path();
  const auto authenticator = Authenticator::create(options, *parse_listen_address("127.0.0.1:0"));
  ASSERT_TRUE(authenticator.ok()) << authenticator.status();
  const auto identity = [&](const std::string& header) {
    return authenticator->identify({header, ""}).value_or("");
  };
  EXPECT_EQ(identity("Bearer " + kToken), "alice");
  EXPECT_EQ(identity("Bearer " + other), "bob@lab");
  EXPECT_EQ(identity("Bearer " + (kToken + other)), "alice");
  EXPECT_EQ(identity(kToken), "");
  EXPECT_EQ(identity("Bearer "), "");
  EXPECT_EQ(authenticator->identify({std::nullopt, ""}).status().code(),
            absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace remora::test
