// Certificates and keys of TLS, as PEM text, checked before gRPC sees them: gRPC says only that
// they do not work. Pure functions; any thread may call them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace remora::wire {

/// What one side of a connection has. Each field is PEM text and may be empty.
struct TlsMaterial {
  std::string ca;           // whom it trusts
  std::string certificate;  // who it says it is: its certificate, then those between it and the CA
  std::string key;          // of the certificate
};

/// INVALID_ARGUMENT, in words that follow the file's name, unless `pem` holds a certificate.
absl::Status check_certificates(const std::string& pem);
/// INVALID_ARGUMENT, likewise, unless `key_pem` is the key of the first certificate, without a
/// passphrase.
absl::Status check_key(const std::string& key_pem, const std::string& certificate_pem);
/// "expired on Jan  1 00:00:00 2024 GMT", or another reason why nobody should accept the first
/// certificate now; empty if there is none.
std::string validity_problem(const std::string& certificate_pem);

}  // namespace remora::wire
