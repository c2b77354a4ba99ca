#include "server/auth.h"

#include <openssl/crypto.h>

#include <utility>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/credential_file.h"
#include "proto/limits.h"
#include "proto/token.h"
#include "server/limits.h"
#include "spdlog/spdlog.h"

namespace remora::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::string_view kTokenAdvice =
    "set REMORA_TOKEN_FILE or --token-file to a file with a token that this worker knows";
constexpr std::string_view kCertificateAdvice =
    "set REMORA_TLS_CERT and REMORA_TLS_KEY to a certificate of the worker's --tls-client-ca";

/// `status` of the file of `option`, with both named.
absl::Status of_file(std::string_view option, const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      str_cat(option, " '", path, "' ", std::string(status.message())));
}

absl::StatusOr<std::string> read_certificates(std::string_view option, const std::string& path) {
  absl::StatusOr<std::string> pem = wire::read_credential_file(path, wire::kMaxPemBytes);
  absl::Status status = pem.status();
  if (status.ok()) status = wire::check_certificates(*pem);
  if (!status.ok()) return of_file(option, path, status);
  return pem;
}

absl::Status check_policy(const Options& options, const ListenAddress& address) {
  if (options.insecure || address.is_unix) return absl::OkStatus();
  const bool encrypted = !options.tls_certificate.empty();
  if (!encrypted && !address.is_local()) {
    return absl::FailedPreconditionError(
        str_cat("--listen ", address.str(),
                " can be reached from other machines: encrypt it with --tls-cert and --tls-key, "
                "listen on 127.0.0.1 or a unix socket, or accept plain text with --insecure"));
  }
  if (!options.token_file.empty() || !options.tls_client_ca.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(
      "--listen ", address.str(), " can be reached by ",
      address.is_local() ? "every user of this machine" : "everybody",
      ": say who may call with --token-file or --tls-client-ca, listen on a unix socket, or "
      "allow everybody with --insecure"));
}

}  // namespace

absl::StatusOr<Authenticator> Authenticator::create(const Options& options,
                                                    const ListenAddress& address) {
  REMORA_RETURN_IF_ERROR(check_policy(options, address));
  Authenticator made;
  made.nobody_ = address.is_unix ? "local" : "anybody";
  REMORA_RETURN_IF_ERROR(made.load_tls(options, address));
  REMORA_RETURN_IF_ERROR(made.load_tokens(options));
  return made;
}

absl::Status Authenticator::load_tls(const Options& options, const ListenAddress& address) {
  const bool any = !options.tls_certificate.empty() || !options.tls_key.empty() ||
                   !options.tls_client_ca.empty();
  if (!any) return absl::OkStatus();
  if (options.tls_certificate.empty() || options.tls_key.empty()) {
    return absl::FailedPreconditionError(
        str_cat(options.tls_certificate.empty() ? "--tls-cert" : "--tls-key",
                " is missing: TLS takes a certificate (--tls-cert) and its key (--tls-key)"));
  }
  if (address.is_unix) {
    return absl::FailedPreconditionError(
        str_cat("--tls-cert is of no use with --listen ", address.str(),
                ": a unix socket is not encrypted; leave it out or listen on HOST:PORT"));
  }
  REMORA_ASSIGN_OR_RETURN(tls_.certificate,
                          read_certificates("--tls-cert", options.tls_certificate));
  absl::StatusOr<std::string> key = wire::read_secret_file(options.tls_key, wire::kMaxPemBytes);
  absl::Status status = key.status();
  if (status.ok()) status = wire::check_key(*key, tls_.certificate);
  if (!status.ok()) return of_file("--tls-key", options.tls_key, status);
  tls_.key = *std::move(key);
  if (!options.tls_client_ca.empty()) {
    REMORA_ASSIGN_OR_RETURN(tls_.ca, read_certificates("--tls-client-ca", options.tls_client_ca));
  }
  if (const std::string problem = wire::validity_problem(tls_.certificate); !problem.empty()) {
    spdlog::warn("--tls-cert '{}' {}: clients will refuse it", options.tls_certificate, problem);
  }
  return absl::OkStatus();
}

absl::Status Authenticator::load_tokens(const Options& options) {
  if (options.token_file.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> content =
      wire::read_secret_file(options.token_file, kMaxTokenFileBytes);
  if (!content.ok()) return of_file("--token-file", options.token_file, content.status());
  absl::StatusOr<std::vector<KnownToken>> tokens = parse_tokens(*content);
  if (!tokens.ok()) {
    return absl::Status(tokens.status().code(), str_cat("--token-file '", options.token_file, "': ",
                                                        std::string(tokens.status().message())));
  }
  tokens_ = *std::move(tokens);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Authenticator::identify(const Credentials& credentials) const {
  if (!needs_credentials()) return nobody_;
  if (!credentials.authorization) {
    if (!credentials.certificate.empty()) return credentials.certificate;
    if (tokens_.empty()) {
      return absl::UnauthenticatedError(str_cat(
          "the worker needs a certificate and the connection brings none: ", kCertificateAdvice));
    }
    return absl::UnauthenticatedError(
        str_cat("the worker needs a token and the call brings none: ", kTokenAdvice));
  }
  if (tokens_.empty()) {
    // A token of the environment, meant for other workers, does no harm beside a certificate.
    if (!credentials.certificate.empty()) return credentials.certificate;
    return absl::UnauthenticatedError(str_cat("the worker knows no tokens: ", kCertificateAdvice));
  }
  if (credentials.authorization->substr(0, kScheme.size()) != kScheme) {
    return absl::UnauthenticatedError(
        str_cat("the call's authorization is not of the form 'Bearer TOKEN': ", kTokenAdvice));
  }
  const std::string hash = wire::token_hash(credentials.authorization->substr(kScheme.size()));
  // All are compared, each in constant time, so that time tells nothing of them.
  const KnownToken* found = nullptr;
  for (const KnownToken& token : tokens_) {
    if (CRYPTO_memcmp(hash.data(), token.hash.data(), wire::kTokenHashBytes) == 0) found = &token;
  }
  if (found != nullptr) return found->identity;
  return absl::UnauthenticatedError(
      str_cat("the token is not one this worker knows: ", kTokenAdvice));
}

}  // namespace remora::server
