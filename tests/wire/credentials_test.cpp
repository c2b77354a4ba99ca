// What worker and program both know of credentials: tokens and their hashes, files that hold
// secrets, certificates and keys, and the socket where they meet.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/credential_file.h"
#include "proto/default_socket.h"
#include "proto/limits.h"
#include "proto/tls_material.h"
#include "proto/token.h"
#include "tests/support/certificates.h"
#include "tests/support/child_process.h"

namespace remora::wire {
namespace {

using testing::HasSubstr;

TEST(Tokens, the_hash_is_sha256) {
  EXPECT_EQ(to_hex(token_hash("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Tokens, new_ones_differ_and_can_travel) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 2 * kNewTokenBytes);
  EXPECT_TRUE(check_token(token).ok());
  EXPECT_NE(token, make_token());
}

TEST(Tokens, what_cannot_travel_is_refused_and_not_repeated) {
  for (const std::string& token :
       {std::string(), std::string("two words"), std::string("caf\xc3\xa9"), std::string("a\nb"),
        std::string(kMaxTokenBytes + 1, 'x')}) {
    const absl::Status status = check_token(token);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    if (token.size() > 2) {
      EXPECT_EQ(status.message().find(token), std::string::npos) << status;
    }
  }
}

TEST(Tokens, names_of_identities_fit_a_line) {
  for (const char* name : {"a", "alice", "bob@lab", "ci-3.gpu_1"}) {
    EXPECT_TRUE(is_identity_name(name)) << name;
  }
  for (const std::string& name : {std::string(), std::string("a:b"), std::string("a b"),
                                  std::string("#a"), std::string(kMaxIdentityNameBytes + 1, 'a')}) {
    EXPECT_FALSE(is_identity_name(name)) << name;
  }
}

class CredentialFile : public testing::Test {
 protected:
  ~CredentialFile() override { std::filesystem::remove(path_); }
  void write(const std::string& content, mode_t mode) {
    std::ofstream(path_) << content;
    chmod(path_.c_str(), mode);
  }
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("remora-secret-" + std::to_string(getpid()));
};

TEST_F(CredentialFile, a_secret_is_read_where_nobody_else_can) {
  write("secret", 0600);
  EXPECT_EQ(*read_secret_file(path_, 6), "secret");
  EXPECT_EQ(read_secret_file(path_, 5).status().code(), absl::StatusCode::kInvalidArgument);
  for (const mode_t mode : {0644, 0640, 0610, 0602}) {
    chmod(path_.c_str(), mode);
    EXPECT_EQ(read_secret_file(path_, 6).status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_TRUE(read_credential_file(path_, 6).ok());
  }
}

TEST_F(CredentialFile, what_is_no_regular_file_is_refused_and_not_waited_for) {
  EXPECT_EQ(read_secret_file(path_, 6).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(read_secret_file("/tmp", 6).status().message()),
              HasSubstr("is a folder"));
  EXPECT_THAT(std::string(read_credential_file("/dev/zero", 6).status().message()),
              HasSubstr("is a device"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(read_secret_file(path_, 6).status().message()), HasSubstr("is a pipe"));
}

TEST(TlsMaterial, certificates_and_keys_are_checked) {
  test::Certificates certificates;
  const auto read = [](const std::string& path) {
    return *read_credential_file(path, kMaxPemBytes);
  };
  const std::string ca = certificates.authority("ca");
  const test::CertificateFiles good = certificates.issue(ca, "good", test::kLoopbackNames);
  const test::CertificateFiles old = certificates.issue(ca, "old", test::kLoopbackNames, true);
  EXPECT_TRUE(check_certificates(read(good.certificate)).ok());
  EXPECT_TRUE(check_key(read(good.key), read(good.certificate)).ok());
  EXPECT_EQ(validity_problem(read(good.certificate)), "");
  EXPECT_THAT(validity_problem(read(old.certificate)), HasSubstr("expired on"));
  EXPECT_FALSE(check_certificates(read(good.key)).ok());
  EXPECT_FALSE(check_certificates("").ok());
  EXPECT_FALSE(check_key(read(good.certificate), read(good.certificate)).ok());
  EXPECT_THAT(std::string(check_key(read(old.key), read(good.certificate)).message()),
              HasSubstr("not the key of the certificate"));
  // A passphrase is not asked for at the terminal.
  const std::string locked = certificates.path("locked.key");
  test::ChildProcess({"/usr/bin/openssl", "pkcs8", "-topk8", "-v2", "aes256", "-passout",
                      "pass:secret", "-in", good.key, "-out", locked})
      .wait();
  EXPECT_THAT(std::string(check_key(read(locked), read(good.certificate)).message()),
              HasSubstr("passphrase"));
}

TEST(DefaultSocket, a_service_has_its_own_folder_and_a_user_the_sessions) {
  setenv("RUNTIME_DIRECTORY", "/run/one:/run/two", 1);
  EXPECT_EQ(default_socket_path(), "/run/one/remora.sock");
  unsetenv("RUNTIME_DIRECTORY");
  setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
  EXPECT_EQ(default_socket_path(), "/run/user/1000/remora/remora.sock");
  setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_THAT(default_socket_path(),
              testing::AnyOf("/run/remora/remora.sock", testing::StartsWith("/tmp/remora-")));
  unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace remora::wire
