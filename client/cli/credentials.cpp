#include "client/cli/credentials.h"

namespace remora::cli {

void add_credentials(CLI::App& command, Credentials& credentials) {
  command.add_option("--token-file", credentials.token_file,
                     "file with the token (REMORA_TOKEN_FILE)");
  command.add_option("--tls-ca", credentials.tls_ca,
                     "PEM file with the authority of the worker's certificate, 'system' or 'none' "
                     "(REMORA_TLS_CA)");
  command.add_option("--tls-cert", credentials.tls_certificate,
                     "PEM file with a certificate to show to the worker (REMORA_TLS_CERT)");
  command.add_option("--tls-key", credentials.tls_key, "PEM file with its key (REMORA_TLS_KEY)");
  command.add_flag("--insecure", credentials.insecure,
                   "allow plain text to an address that is not this machine (REMORA_INSECURE=1)");
}

remote::RemoteOptions options_of(const std::string& address, const Credentials& credentials) {
  remote::RemoteOptions options = remote::remote_options(address);
  options.insecure = options.insecure || credentials.insecure;
  const auto set = [](std::string& option, const std::string& value) {
    if (!value.empty()) option = value;
  };
  set(options.token_file, credentials.token_file);
  set(options.tls_ca, credentials.tls_ca);
  set(options.tls_certificate, credentials.tls_certificate);
  set(options.tls_key, credentials.tls_key);
  return options;
}

}  // namespace remora::cli
