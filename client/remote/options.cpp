#include "client/remote/options.h"

#include <cstdlib>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/credential_file.h"
#include "proto/token.h"

namespace remora::remote {
namespace {

struct OptionsTable {
  absl::Mutex mutex;  // guards by_address
  absl::flat_hash_map<std::string, RemoteOptions> by_address ABSL_GUARDED_BY(mutex);
};

OptionsTable& table() {
  static auto& instance = *std::make_unique<OptionsTable>().release();  // outlives every thread
  return instance;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Where an option's value comes from.
struct Source {
  std::string value;
  std::string name;  // "REMORA_TLS_CA (ca.pem)"
};

/// The option's value, else the variable's; names neither where both are empty.
Source source_of(const char* option, const std::string& value, const char* variable) {
  if (!value.empty()) return {value, str_cat("RemoteOptions::", option, " (", value, ")")};
  const std::string set = environment(variable);
  if (!set.empty()) return {set, str_cat(variable, " (", set, ")")};
  return {"", str_cat("none: set ", variable, " or RemoteOptions::", option)};
}

/// `status` as said of a credential of that worker.
absl::Status named(std::string_view address, std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(),
                      str_cat("worker ", address, ": ", what, " ", std::string(status.message())));
}

/// The file of Debian and its like, and that of Red Hat's.
absl::StatusOr<std::string> read_system_ca() {
  for (const char* path :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
    absl::StatusOr<std::string> pem = wire::read_credential_file(path, wire::kMaxPemBytes);
    if (!absl::IsNotFound(pem.status())) return pem;
  }
  return absl::NotFoundError(
      "cannot be read: this system has no list of authorities (Debian: ca-certificates)");
}

absl::StatusOr<std::string> read_ca(const std::string& path) {
  absl::StatusOr<std::string> pem =
      path == kSystemCa ? read_system_ca() : wire::read_credential_file(path, wire::kMaxPemBytes);
  if (pem.ok()) REMORA_RETURN_IF_ERROR(wire::check_certificates(*pem));
  return pem;
}

absl::Status load_own_certificate(std::string_view address, const Source& certificate,
                                  const Source& key, wire::TlsMaterial& material) {
  if (certificate.value.empty() || key.value.empty()) {
    const Source& set = certificate.value.empty() ? key : certificate;
    const Source& missing = certificate.value.empty() ? certificate : key;
    return absl::InvalidArgumentError(str_cat("worker ", address, ": ", set.name,
                                              " is set and the other of certificate and key is ",
                                              missing.name));
  }
  absl::StatusOr<std::string> pem =
      wire::read_credential_file(certificate.value, wire::kMaxPemBytes);
  absl::Status status = pem.status();
  if (status.ok()) status = wire::check_certificates(*pem);
  if (!status.ok()) return named(address, str_cat("the certificate of ", certificate.name), status);
  absl::StatusOr<std::string> key_pem = wire::read_secret_file(key.value, wire::kMaxPemBytes);
  status = key_pem.status();
  if (status.ok()) status = wire::check_key(*key_pem, *pem);
  if (!status.ok()) return named(address, str_cat("the key of ", key.name), status);
  material.certificate = *std::move(pem);
  material.key = *std::move(key_pem);
  return absl::OkStatus();
}

}  // namespace

std::string worker_key(std::string_view address) {
  std::string key(address);
  if (!key.starts_with("unix:")) absl::AsciiStrToLower(&key);
  return key;
}

void set_remote_options(std::string_view address, RemoteOptions options) {
  const absl::MutexLock lock(&table().mutex);
  table().by_address[worker_key(address)] = std::move(options);
}

RemoteOptions remote_options(std::string_view address) {
  RemoteOptions options;
  {
    const absl::MutexLock lock(&table().mutex);
    const auto found = table().by_address.find(worker_key(address));
    if (found != table().by_address.end()) options = found->second;
  }
  if (environment("REMORA_INSECURE") == "1") options.insecure = true;
  return options;
}

absl::StatusOr<Token> load_token(std::string_view address, const RemoteOptions& options) {
  Token token{options.token, "RemoteOptions::token"};
  if (token.text.empty()) {
    const Source source = source_of("token_file", options.token_file, "REMORA_TOKEN_FILE");
    token.source = source.name;
    if (source.value.empty()) return token;
    const absl::StatusOr<std::string> content =
        wire::read_secret_file(source.value, 2 * wire::kMaxTokenBytes);
    if (!content.ok()) {
      return named(address, str_cat("the token of ", token.source), content.status());
    }
    token.text = std::string(absl::StripAsciiWhitespace(*content));
  }
  if (const absl::Status status = wire::check_token(token.text); !status.ok()) {
    return named(address, str_cat("the token of ", token.source), status);
  }
  return token;
}

absl::StatusOr<std::optional<Tls>> load_tls(std::string_view address,
                                            const RemoteOptions& options) {
  if (address.starts_with("unix:")) return std::nullopt;
  Source ca = source_of("tls_ca", options.tls_ca, "REMORA_TLS_CA");
  const Source certificate =
      source_of("tls_certificate", options.tls_certificate, "REMORA_TLS_CERT");
  const Source key = source_of("tls_key", options.tls_key, "REMORA_TLS_KEY");
  const bool has_own = !certificate.value.empty() || !key.value.empty();
  if (ca.value == kNoCa || (ca.value.empty() && !has_own)) return std::nullopt;
  if (ca.value.empty()) ca = {kSystemCa, "the system, since REMORA_TLS_CA is not set"};
  Tls tls;
  absl::StatusOr<std::string> pem = read_ca(ca.value);
  if (!pem.ok()) return named(address, str_cat("the CA of ", ca.name), pem.status());
  tls.material.ca = *std::move(pem);
  tls.ca_source = ca.name;
  tls.certificate_source = certificate.name;
  if (has_own) {
    REMORA_RETURN_IF_ERROR(load_own_certificate(address, certificate, key, tls.material));
  }
  return tls;
}

}  // namespace remora::remote
