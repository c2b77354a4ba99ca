#include "client/cli/machine.h"

#include <fstream>

#include "dispatch/registry.h"
#include "dispatch/str_cat.h"

namespace remora::cli {

std::vector<LocalDevice> local_devices(BackendKind kind) {
  std::vector<LocalDevice> found;
  const auto factory = dispatch::registry().factory(kind);
  if (!factory.ok()) return found;
  const absl::StatusOr<int> count = (*factory)->count();
  if (!count.ok() || *count == 0) {
    found.push_back({kind, str_cat(backend_name(kind)), false, "", count.status()});
    return found;
  }
  for (int i = 0; i < *count; ++i) {
    const auto backend = (*factory)->open({.kind = kind, .index = i});
    found.push_back({kind, str_cat(backend_name(kind), ":", i), true,
                     backend.ok() ? (*backend)->info().name : "", backend.status()});
  }
  return found;
}

std::string value_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

}  // namespace remora::cli
