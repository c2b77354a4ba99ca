#include "proto/default_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "dispatch/str_cat.h"

namespace remora::wire {
namespace {

constexpr std::string_view kName = "remora.sock";
constexpr std::string_view kService = "/run/remora/";

/// The variable's value if it is an absolute path, else empty.
std::string folder_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string of_user() {
  const std::string run = folder_of("XDG_RUNTIME_DIR");
  return run.empty() ? "" : str_cat(run, "/remora/", kName);
}

std::string of_tmp() { return str_cat("/tmp/remora-", geteuid(), "/", kName); }

}  // namespace

std::string default_socket_path() {
  // Of several folders the first is the one that lives as long as the service.
  std::string service = folder_of("RUNTIME_DIRECTORY");
  service.resize(std::min(service.find(':'), service.size()));
  if (!service.empty()) return str_cat(service, "/", kName);
  if (std::string path = of_user(); !path.empty()) return path;
  return geteuid() == 0 ? str_cat(kService, kName) : of_tmp();
}

std::optional<std::string> find_default_socket() {
  for (const std::string& path : {of_user(), str_cat(kService, kName), of_tmp()}) {
    struct stat found {};
    if (path.empty() || stat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) continue;
    if (access(path.c_str(), W_OK) == 0 && is_trusted_socket(path)) return path;
  }
  return std::nullopt;
}

bool is_trusted_socket(const std::string& path) {
  if (path != of_tmp()) return true;
  const std::string folder = path.substr(0, path.rfind('/'));
  struct stat found {};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid() && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace remora::wire
