#include "proto/tls_material.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <string_view>

#include "dispatch/str_cat.h"
#include "proto/openssl_handles.h"

namespace remora::wire {
namespace {

/// Never asks the terminal for a passphrase.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

Certificate first_certificate(const std::string& pem) {
  const Bio bio = bio_of(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return certificate;
}

std::string time_text(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

absl::Status check_certificates(const std::string& pem) {
  if (first_certificate(pem) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
}

absl::Status check_key(const std::string& key_pem, const std::string& certificate_pem) {
  const Bio bio = bio_of(key_pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        key_pem.find("ENCRYPTED") != std::string::npos
            ? "is protected by a passphrase; `openssl pkey` writes it without one"
            : "holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)");
  }
  const Certificate certificate = first_certificate(certificate_pem);
  const bool fits =
      certificate != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError("is not the key of the certificate beside it");
}

std::string validity_problem(const std::string& certificate_pem) {
  const Certificate certificate = first_certificate(certificate_pem);
  if (certificate == nullptr) return "is no certificate";
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate.get());
  const ASN1_TIME* const end = X509_get0_notAfter(certificate.get());
  if (X509_cmp_current_time(begin) > 0) return str_cat("is not valid before ", time_text(begin));
  if (X509_cmp_current_time(end) < 0) return str_cat("expired on ", time_text(end));
  return "";
}

}  // namespace remora::wire
