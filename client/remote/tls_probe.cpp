#include "client/remote/tls_probe.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include <cerrno>
#include <memory>
#include <string>

#include "client/remote/dial.h"
#include "dispatch/str_cat.h"
#include "proto/openssl_handles.h"

namespace remora::remote {
namespace {

using wire::Bio;
using wire::Certificate;
using wire::Freeing;
using wire::Key;
using Context = std::unique_ptr<SSL_CTX, Freeing<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Freeing<SSL_free>>;

constexpr unsigned char kProtocols[] = {2, 'h', '2'};

void trust(SSL_CTX* context, const std::string& pem) {
  const Bio bio = wire::bio_of(pem);
  while (const Certificate each{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get());
  }
}

void present(SSL_CTX* context, const wire::TlsMaterial& material) {
  if (material.certificate.empty()) return;
  const Bio chain = wire::bio_of(material.certificate);
  const Certificate own(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_certificate(context, own.get());
  while (Certificate next{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)}) {
    SSL_CTX_add_extra_chain_cert(context, next.release());  // which then owns it
  }
  const Bio bio = wire::bio_of(material.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_PrivateKey(context, key.get());
}

void expect_host(SSL* connection, const std::string& host) {
  in6_addr parsed{};
  if (inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
      inet_pton(AF_INET6, host.c_str(), &parsed) == 1) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host.c_str());
  } else {
    SSL_set1_host(connection, host.c_str());
    SSL_set_tlsext_host_name(connection, host.c_str());
  }
}

/// The names a certificate is good for.
std::string names_of(X509* certificate) {
  const Bio text(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
  const int at = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (at >= 0) {
    BIO_puts(text.get(), ", ");
    X509V3_EXT_print(text.get(), X509_get_ext(certificate, at), 0, 0);
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

/// Keeps the names of a certificate that is refused: the connection has it no more when it ends.
int note_refused(int accepted, X509_STORE_CTX* verified) {
  if (accepted == 1) return accepted;
  const auto* connection = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* names = static_cast<std::string*>(SSL_get_app_data(connection));
  *names = names_of(X509_STORE_CTX_get0_cert(verified));
  return accepted;
}

/// Why this side refused the worker's certificate.
std::string refused_by_us(SSL* connection, const std::string& host, const std::string& names,
                          const Tls& tls) {
  const long error = SSL_get_verify_result(connection);
  const std::string why = X509_verify_cert_error_string(error);
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return str_cat("the worker's certificate is not valid now (", why, ")");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return str_cat("the worker's certificate is not for ", host, " (", why, "); it is for ",
                     names);
    default:
      return str_cat("the worker's certificate is not signed by the CA of ", tls.ca_source, " (",
                     why, ")");
  }
}

/// Why the worker refused this side's certificate; empty where it did not.
std::string refused_by_worker(int reason, const Tls& tls) {
  const std::string of = tls.material.certificate.empty()
                             ? ""
                             : str_cat("the certificate of ", tls.certificate_source);
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return str_cat("the worker asks for a certificate of this program; there is ",
                     tls.certificate_source);
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return str_cat("the worker does not know the authority that signed ", of);
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return str_cat("the worker says that it has expired: ", of);
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return of.empty() ? str_cat(
                              "the worker refuses the handshake, maybe for want of a "
                              "certificate of this program; there is ",
                              tls.certificate_source)
                        : str_cat("the worker refuses ", of);
    default:
      return "";
  }
}

/// True if one of the authorities that a worker names has signed one of this side's certificates.
bool is_signed_by_one_of(const std::string& pem, const STACK_OF(X509_NAME) * authorities) {
  const Bio chain = wire::bio_of(pem);
  while (const Certificate each{PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)}) {
    for (int i = 0; i < sk_X509_NAME_num(authorities); ++i) {
      const X509_NAME* const authority = sk_X509_NAME_value(authorities, i);
      if (X509_NAME_cmp(X509_get_issuer_name(each.get()), authority) == 0) return true;
    }
  }
  return false;
}

/// Why a worker that asked for a certificate has closed the connection after the handshake.
std::string refused_without_a_word(SSL* connection, const Tls& tls) {
  if (tls.material.certificate.empty()) {
    return str_cat("the worker asks for a certificate of this program; there is ",
                   tls.certificate_source);
  }
  const std::string of = str_cat("the certificate of ", tls.certificate_source);
  if (const std::string problem = wire::validity_problem(tls.material.certificate);
      !problem.empty()) {
    return str_cat("the worker refuses ", of, ": it ", problem);
  }
  const STACK_OF(X509_NAME)* const authorities = SSL_get0_peer_CA_list(connection);
  if (authorities != nullptr && sk_X509_NAME_num(authorities) > 0 &&
      !is_signed_by_one_of(tls.material.certificate, authorities)) {
    return str_cat("the worker does not know the authority that signed ", of);
  }
  return str_cat("the worker refuses ", of);
}

/// Notes that the worker asks for a certificate.
int note_asked(SSL* /*connection*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 1;
}

/// OpenSSL writes without MSG_NOSIGNAL: while this lives, a connection that breaks raises no
/// SIGPIPE on this thread.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

class Probe {
 public:
  Probe(std::string_view address, std::string host, const std::optional<Tls>& tls)
      : address_(address),
        host_(std::move(host)),
        tls_(tls),
        context_(SSL_CTX_new(TLS_client_method())) {
    if (tls_.has_value()) {
      trust(context_.get(), tls_->material.ca);
      present(context_.get(), tls_->material);
      SSL_CTX_set_cert_cb(context_.get(), note_asked, &asked_);
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, note_refused);
    }
    SSL_CTX_set_alpn_protos(context_.get(), kProtocols, sizeof kProtocols);
  }

  absl::Status run(const Socket& socket) {
    ERR_clear_error();
    const Connection connection(SSL_new(context_.get()));
    SSL_set_fd(connection.get(), socket.fd());
    SSL_set_app_data(connection.get(), &refused_names_);
    if (tls_.has_value()) expect_host(connection.get(), host_);
    const int done = SSL_connect(connection.get());
    if (!tls_.has_value()) return done == 1 ? worker_wants_tls() : absl::OkStatus();
    if (done != 1) return handshake_failed(connection.get(), done);
    // The worker looks at this side's certificate after the handshake of TLS 1.3; if it is content,
    // it says its HTTP/2 settings. A write would make its refusal unreadable.
    char answer = 0;
    errno = 0;
    if (SSL_read(connection.get(), &answer, 1) > 0) return absl::OkStatus();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return absl::OkStatus();
    std::string refused = refused_by_worker(ERR_GET_REASON(ERR_peek_last_error()), *tls_);
    // gRPC closes without a word.
    if (refused.empty() && asked_) refused = refused_without_a_word(connection.get(), *tls_);
    return refused.empty() ? absl::OkStatus() : unauthenticated(refused);
  }

 private:
  absl::Status unauthenticated(std::string_view reason) const {
    return absl::UnauthenticatedError(str_cat("worker ", address_, ": TLS: ", reason));
  }
  absl::Status worker_wants_tls() const {
    return absl::FailedPreconditionError(
        str_cat("worker ", address_,
                ": TLS: the worker speaks TLS and this program does not; set REMORA_TLS_CA or "
                "RemoteOptions::tls_ca to the authority of its certificate"));
  }
  absl::Status handshake_failed(SSL* connection, int done) const {
    const int system = errno;
    const int kind = SSL_get_error(connection, done);
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    if (kind == SSL_ERROR_SSL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      return unauthenticated(refused_by_us(connection, host_, refused_names_, *tls_));
    }
    if (const std::string refused = refused_by_worker(reason, *tls_); !refused.empty()) {
      return unauthenticated(refused);
    }
    // The socket's deadline: the worker accepts and says nothing.
    if (kind != SSL_ERROR_SSL && (system == EAGAIN || system == EWOULDBLOCK)) {
      return absl::UnavailableError(
          str_cat("worker ", address_, ": TLS: no answer to the handshake"));
    }
    return absl::FailedPreconditionError(
        str_cat("worker ", address_, ": TLS: what listens there does not speak TLS; leave ",
                tls_->ca_source, " out, or start the worker with --tls-cert and --tls-key"));
  }

  const std::string address_;
  const std::string host_;
  const std::optional<Tls>& tls_;
  const Context context_;
  std::string refused_names_;
  bool asked_ = false;  // the worker, for a certificate
};

}  // namespace

absl::Status probe_tls(std::string_view address, const RemoteOptions& options,
                       const std::optional<Tls>& tls) {
  const auto parsed = dispatch::parse_worker_address(address);
  if (!parsed.ok() || parsed->is_unix) return absl::OkStatus();
  const NoSigpipe no_sigpipe;
  const absl::StatusOr<Socket> socket = dial(*parsed, options.connect_deadline_ms);
  if (!socket.ok()) return absl::OkStatus();
  absl::Status status = Probe(address, parsed->host, tls).run(*socket);
  ERR_clear_error();
  return status;
}

}  // namespace remora::remote
