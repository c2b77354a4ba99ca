#include "client/cli/token.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/ascii.h"
#include "client/cli/exit_codes.h"
#include "client/cli/standard_output.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"
#include "proto/credential_file.h"
#include "proto/limits.h"
#include "proto/token.h"

namespace remora::cli {
namespace {

int fail(ExitCode code, std::string_view what) {
  std::fprintf(stderr, "remora: token: %s\n", std::string(what).c_str());
  return code;
}

int check_name(const std::string& name) {
  if (wire::is_identity_name(name)) return kOk;
  return fail(kUsage, str_cat("'", name, "' is no name of an identity; right are 1 to ",
                              wire::kMaxIdentityNameBytes, " letters, digits and . _ - @"));
}

std::string line_of(const std::string& name, const std::string& token) {
  return str_cat(name, ":", wire::to_hex(wire::token_hash(token)));
}

/// Empty, or why the token is not in a new file that nobody else can read.
std::string save(const std::string& path, const std::string& token) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return str_cat("'", path, "' cannot be made: ", std::strerror(errno));
  const std::string line = token + "\n";
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (close(file) == 0 && written) return "";
  unlink(path.c_str());
  return str_cat("'", path, "' cannot be written: ", std::strerror(error));
}

}  // namespace

int new_token(const TokenOptions& options) {
  if (const int code = check_name(options.name); code != kOk) return code;
  const std::string token = wire::make_token();
  const std::string line = line_of(options.name, token);
  if (!options.file.empty()) {
    if (const std::string why = save(options.file, token); !why.empty()) return fail(kFailed, why);
  }
  if (options.json) {
    nlohmann::ordered_json report = {{"name", options.name}, {"worker_line", line}};
    if (options.file.empty()) report["token"] = token;
    if (!options.file.empty()) report["token_file"] = options.file;
    std::printf("%s\n", report.dump(2).c_str());
  } else if (options.file.empty()) {
    std::printf("token for the program: %s\nline for the worker's --token-file: %s\n",
                token.c_str(), line.c_str());
  } else {
    std::printf("%s\n", line.c_str());
  }
  // Without its line for the worker, a token is of no use to anybody.
  if (!is_stdout_written() && !options.file.empty()) unlink(options.file.c_str());
  return kOk;
}

int hash_token(const TokenOptions& options) {
  if (const int code = check_name(options.name); code != kOk) return code;
  const absl::StatusOr<std::string> content =
      wire::read_secret_file(options.file, 2 * wire::kMaxTokenBytes);
  if (!content.ok()) {
    return fail(kFailed, str_cat("'", options.file, "' ", std::string(content.status().message())));
  }
  const std::string token(absl::StripAsciiWhitespace(*content));
  if (const absl::Status status = wire::check_token(token); !status.ok()) {
    return fail(kFailed, str_cat("'", options.file, "' ", std::string(status.message())));
  }
  if (token.size() < wire::kMinTokenBytes) {
    return fail(kFailed, str_cat("the token of '", options.file, "' has ", token.size(),
                                 " characters and can be guessed; at least ", wire::kMinTokenBytes,
                                 " are right"));
  }
  std::printf("%s\n", line_of(options.name, token).c_str());
  return kOk;
}

}  // namespace remora::cli
