// The flags by which a command reaches a worker: the RemoteOptions of its address.
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "client/remote/options.h"

namespace remora::cli {

/// What the command line says; empty where the environment decides.
struct Credentials {
  std::string token_file;
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
  bool insecure = false;
};

void add_credentials(CLI::App& command, Credentials& credentials);

/// What was set for that worker, with what the command line says on top.
remote::RemoteOptions options_of(const std::string& address, const Credentials& credentials);

}  // namespace remora::cli
