// `remora token`: makes a token for a program and the line by which a worker knows it.
#pragma once

#include <string>

namespace remora::cli {

struct TokenOptions {
  std::string name;  // of the identity
  std::string file;  // `new`: where the token goes, empty: stdout; `hash`: where it is
  bool json = false;
};

/// Makes a token. An exit code.
int new_token(const TokenOptions& options);

/// Prints the worker's line for a token that there is already. An exit code.
int hash_token(const TokenOptions& options);

}  // namespace remora::cli
