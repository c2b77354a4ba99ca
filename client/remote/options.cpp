#include "client/remote/options.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

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

/// Reads at most one byte more than a token may have.
absl::StatusOr<std::string> read_token_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxTokenBytes + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    if (file)
      return absl::InvalidArgumentError(str_cat("holds more than ", kMaxTokenBytes, " bytes"));
    return absl::NotFoundError(errno == 0 ? "cannot be read" : std::strerror(errno));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  const char* const blanks = " \t\r\n";
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, text.find_first_not_of(blanks));
  if (text.empty()) return absl::InvalidArgumentError("is empty; it should hold the token");
  return text;
}

/// A header carries printable ASCII only.
absl::Status check_token(const std::string& text) {
  if (text.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(
        str_cat("is ", text.size(), " bytes long; at most ", kMaxTokenBytes, " are right"));
  }
  const auto bad =
      std::find_if(text.begin(), text.end(), [](char c) { return c < 0x21 || c > 0x7e; });
  if (bad == text.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(str_cat("has a byte ",
                                            static_cast<int>(static_cast<uint8_t>(*bad)), " at ",
                                            bad - text.begin(), "; printable ASCII is right"));
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
  const auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(), str_cat("worker ", address, ": the token of ", token.source,
                                               " ", std::string(status.message())));
  };
  if (token.text.empty()) {
    std::string path = options.token_file;
    token.source = str_cat("RemoteOptions::token_file (", path, ")");
    if (path.empty()) {
      path = environment("REMORA_TOKEN_FILE");
      token.source = str_cat("REMORA_TOKEN_FILE (", path, ")");
    }
    if (path.empty()) return Token{"", "none: set REMORA_TOKEN_FILE or RemoteOptions::token_file"};
    absl::StatusOr<std::string> text = read_token_file(path);
    if (!text.ok()) return named(text.status());
    token.text = *std::move(text);
  }
  if (const absl::Status status = check_token(token.text); !status.ok()) return named(status);
  return token;
}

}  // namespace remora::remote
