// Encrypted workers: who is let in, and what an error says when one side does not accept the other.
#include <cstdlib>
#include <memory>

#include "client/ops.h"
#include "client/tensor.h"
#include "gmock/gmock.h"
#include "tests/remote/remote_fixture.h"
#include "tests/support/certificates.h"

namespace remora::remote {
namespace {

using test::CertificateFiles;
using test::Certificates;
using test::kLoopbackNames;
using test::WorkerProcess;
using testing::HasSubstr;
using testing::Not;

class RemoteTls : public testing::Test {
 protected:
  /// A worker on 127.0.0.1 with this certificate.
  WorkerProcess& start(const CertificateFiles& own, std::vector<std::string> flags,
                       const std::string& token = "") {
    flags.insert(flags.end(), {"--tls-cert", own.certificate, "--tls-key", own.key});
    worker_ = std::make_unique<WorkerProcess>(
        test::WorkerOptions{.flags = flags, .tcp = true, .token = token, .tls = true});
    disconnect(worker_->address());
    return *worker_;
  }
  CertificateFiles good() { return certificates_.issue(ca_, "worker", kLoopbackNames); }

  /// How the first contact ends.
  absl::Status contact(const RemoteOptions& options) {
    set_remote_options(worker_->address(), options);
    return error_of([&] { Device::remote(worker_->address()).synchronize(); });
  }
  absl::Status compute() {
    return error_of([&] {
      const Device device = Device::remote(worker_->address());
      EXPECT_EQ((from_data({1.0f, 2.0f}, {2}, device) + 1.0).to_vector<float>(),
                (std::vector<float>{2.0f, 3.0f}));
      const Tensor large = from_data(ramp(1 << 17), {1 << 17}, device);  // the bulk plane
      EXPECT_EQ((large * 2.0).to_vector<float>().size(), size_t{1} << 17);
    });
  }
  RemoteOptions with_token() const {
    RemoteOptions options;
    options.token = kToken;
    options.tls_ca = ca_;
    return options;
  }

  Certificates certificates_;
  const std::string ca_ = certificates_.authority("ca");
  std::unique_ptr<WorkerProcess> worker_;
};

TEST_F(RemoteTls, a_token_over_an_encrypted_connection_is_let_in) {
  start(good(), {}, kToken);
  EXPECT_TRUE(contact(with_token()).ok());
  EXPECT_TRUE(compute().ok());
  worker_->terminate();
  EXPECT_THAT(worker_->log(), HasSubstr("session 1 of 'test' opened"));
  EXPECT_THAT(worker_->log(), HasSubstr("encrypted"));
}

TEST_F(RemoteTls, a_client_certificate_is_an_identity) {
  start(good(), {"--tls-client-ca", ca_});
  const CertificateFiles alice = certificates_.issue(ca_, "alice", "");
  RemoteOptions options;
  options.tls_ca = ca_;
  options.tls_certificate = alice.certificate;
  options.tls_key = alice.key;
  EXPECT_TRUE(contact(options).ok());
  EXPECT_TRUE(compute().ok());
  worker_->terminate();
  EXPECT_THAT(worker_->log(), HasSubstr("session 1 of 'alice' opened"));
}

TEST_F(RemoteTls, where_both_are_known_either_is_enough) {
  start(good(), {"--tls-client-ca", ca_}, kToken);
  EXPECT_TRUE(contact(with_token()).ok());
  disconnect(worker_->address());
  const CertificateFiles bob = certificates_.issue(ca_, "robert", "DNS:bob");
  RemoteOptions options;
  options.tls_ca = ca_;
  options.tls_certificate = bob.certificate;
  options.tls_key = bob.key;
  EXPECT_TRUE(contact(options).ok());
  disconnect(worker_->address());
  options.tls_certificate.clear();
  options.tls_key.clear();
  const absl::Status neither = contact(options);
  EXPECT_EQ(neither.code(), absl::StatusCode::kUnauthenticated) << neither;
  EXPECT_THAT(std::string(neither.message()), HasSubstr("token"));
  worker_->terminate();
  EXPECT_THAT(worker_->log(), HasSubstr("of 'bob' opened"));
}

TEST_F(RemoteTls, credentials_come_from_the_environment) {
  start(good(), {"--tls-client-ca", ca_});
  const CertificateFiles alice = certificates_.issue(ca_, "alice", "");
  setenv("REMORA_TLS_CA", ca_.c_str(), 1);
  setenv("REMORA_TLS_CERT", alice.certificate.c_str(), 1);
  setenv("REMORA_TLS_KEY", alice.key.c_str(), 1);
  EXPECT_TRUE(contact({}).ok());
  // A unix socket is not encrypted, whatever is set for other workers.
  const WorkerProcess local;
  EXPECT_TRUE(error_of([&] { Device::remote(local.address()).synchronize(); }).ok());
  unsetenv("REMORA_TLS_CA");
  unsetenv("REMORA_TLS_CERT");
  unsetenv("REMORA_TLS_KEY");
}

TEST_F(RemoteTls, a_certificate_of_another_authority_is_refused_by_name) {
  start(good(), {}, kToken);
  RemoteOptions options = with_token();
  options.tls_ca = certificates_.authority("other");
  const absl::Status status = contact(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(worker_->address() + ": TLS"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("not signed by the CA of RemoteOptions::tls_ca (" + options.tls_ca));
}

TEST_F(RemoteTls, an_expired_certificate_is_told_apart) {
  start(certificates_.issue(ca_, "worker", kLoopbackNames, /*expired=*/true), {}, kToken);
  const absl::Status status = contact(with_token());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("certificate has expired"));
  EXPECT_THAT(worker_->log(), HasSubstr("expired on"));
}

TEST_F(RemoteTls, a_certificate_of_another_host_names_both_hosts) {
  start(certificates_.issue(ca_, "worker", "DNS:gpu-box.example"), {}, kToken);
  const absl::Status status = contact(with_token());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not for 127.0.0.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("DNS:gpu-box.example"));
}

TEST_F(RemoteTls, a_missing_client_certificate_names_the_option) {
  start(good(), {"--tls-client-ca", ca_});
  RemoteOptions options;
  options.tls_ca = ca_;
  const absl::Status status = contact(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("asks for a certificate"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("REMORA_TLS_CERT"));
}

TEST_F(RemoteTls, a_client_certificate_that_is_refused_says_why) {
  start(good(), {"--tls-client-ca", ca_});
  RemoteOptions options;
  options.tls_ca = ca_;
  const CertificateFiles old = certificates_.issue(ca_, "alice", "", /*expired=*/true);
  options.tls_certificate = old.certificate;
  options.tls_key = old.key;
  absl::Status status = contact(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("expired"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(old.certificate));

  const CertificateFiles strange =
      certificates_.issue(certificates_.authority("other"), "alice", "");
  options.tls_certificate = strange.certificate;
  options.tls_key = strange.key;
  status = contact(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not know the authority"));
  worker_->terminate();
  EXPECT_THAT(worker_->log(), HasSubstr("connection refused: TLS: "));
}

TEST_F(RemoteTls, one_side_without_encryption_is_told_so) {
  WorkerProcess& encrypted = start(good(), {}, kToken);
  RemoteOptions plain;
  plain.token = kToken;
  absl::Status status = contact(plain);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the worker speaks TLS"));
  EXPECT_THAT(encrypted.log(), HasSubstr("refused: it does not speak TLS"));

  worker_ = std::make_unique<WorkerProcess>(test::WorkerOptions{.tcp = true, .token = kToken});
  status = contact(with_token());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not speak TLS"));
  EXPECT_THAT(worker_->log(), HasSubstr("refused: it speaks TLS"));
}

TEST_F(RemoteTls, files_that_are_no_credentials_name_worker_option_and_file) {
  start(good(), {}, kToken);
  const CertificateFiles alice = certificates_.issue(ca_, "alice", "");
  const CertificateFiles bob = certificates_.issue(ca_, "bob", "");
  struct Case {
    RemoteOptions options;
    std::string reason;
  };
  std::vector<Case> cases;
  const auto add = [&](const std::string& ca, const std::string& certificate,
                       const std::string& key, const std::string& reason) {
    RemoteOptions options = with_token();
    options.tls_ca = ca;
    options.tls_certificate = certificate;
    options.tls_key = key;
    cases.push_back({options, reason});
  };
  add("/nowhere/ca.pem", "", "", "RemoteOptions::tls_ca (/nowhere/ca.pem) cannot be read");
  add(alice.key, "", "", "holds no certificate");
  add(ca_, alice.certificate, "", "REMORA_TLS_KEY");
  add(ca_, "", alice.key, "REMORA_TLS_CERT");
  add(ca_, alice.certificate, bob.key, "is not the key of the certificate");
  add(ca_, alice.certificate, certificates_.path(""), "is a folder");
  for (const Case& each : cases) {
    const absl::Status status = contact(each.options);
    EXPECT_THAT(std::string(status.message()), HasSubstr(each.reason));
    EXPECT_THAT(std::string(status.message()), HasSubstr("worker " + worker_->address()));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(kToken)));
  }
}

}  // namespace
}  // namespace remora::remote
