#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_split.h"
#include "client/cli/findings.h"
#include "client/cli/ping.h"
#include "client/tensor.h"
#include "dispatch/error.h"
#include "dispatch/registry.h"
#include "dispatch/str_cat.h"
#include "proto/credential_file.h"
#include "proto/limits.h"

namespace remora::cli {
namespace {

/// The port of the examples, and of most workers.
constexpr uint16_t kUsualPort = 7070;

Finding find_default_device() {
  const char* const variable = std::getenv("REMORA_DEVICE");
  const bool named = variable != nullptr && *variable != '\0';
  const std::string cause = named ? str_cat("REMORA_DEVICE=", variable, ": ") : "";
  try {
    const Device device = Device::default_device();
    return {"default-device", FindingState::kOk, str_cat(cause, device.str()), ""};
  } catch (const Error& error) {
    return {"default-device", FindingState::kProblem, str_cat(cause, error.what()),
            named ? "unset REMORA_DEVICE, or set it to a device of `remora devices`"
                  : "start a worker and set REMORA_WORKERS to its address"};
  }
}

std::vector<Finding> find_token_file() {
  const char* const path = std::getenv("REMORA_TOKEN_FILE");
  if (path == nullptr || *path == '\0') return {};
  const auto content = wire::read_secret_file(path, 2 * wire::kMaxTokenBytes);
  if (!content.ok()) {
    const bool others_can_read =
        content.status().code() == absl::StatusCode::kPermissionDenied && access(path, R_OK) == 0;
    return {{"token-file", FindingState::kProblem,
             str_cat("REMORA_TOKEN_FILE=", path, " ", content.status().message()),
             others_can_read ? str_cat("chmod 600 ", path)
                             : "set it to the file with the worker's token, or unset it"}};
  }
  return {{"token-file", FindingState::kOk, path, ""}};
}

std::vector<Finding> find_workers() {
  const char* const variable = std::getenv("REMORA_WORKERS");
  if (variable == nullptr || *variable == '\0') {
    return {{"worker", FindingState::kAbsent, "REMORA_WORKERS is not set",
             "to use a worker by default: export REMORA_WORKERS=HOST:PORT"}};
  }
  std::vector<Finding> findings;
  for (const std::string& address :
       std::vector<std::string>(absl::StrSplit(variable, ',', absl::SkipEmpty()))) {
    const std::string reason = why_unreachable(address);
    const bool reached = reason.empty();
    findings.push_back({"worker", reached ? FindingState::kOk : FindingState::kProblem,
                        str_cat(address, reached ? " answers" : ": ", reason),
                        reached ? "" : str_cat("remora ping ", address)});
  }
  return findings;
}

Finding find_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const absl::Cleanup closing = [fd] {
    if (fd >= 0) close(fd);
  };
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kUsualPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return {"port", FindingState::kOk, str_cat("127.0.0.1:", kUsualPort, " is free"), ""};
  }
  return {"port", FindingState::kAbsent,
          str_cat("127.0.0.1:", kUsualPort, " cannot be listened on: ", std::strerror(errno)),
          "start remorad with another port: --listen 127.0.0.1:0 takes a free one"};
}

}  // namespace

std::vector<Finding> find_configuration() {
  std::vector<Finding> findings{find_default_device()};
  for (Finding& finding : find_token_file()) findings.push_back(std::move(finding));
  for (Finding& finding : find_workers()) findings.push_back(std::move(finding));
  findings.push_back(find_port());
  return findings;
}

}  // namespace remora::cli
