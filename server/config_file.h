// The worker's configuration file, TOML: the options of the command line without their dashes, and
// a table for each identity that has limits of its own.
//
//   listen = "0.0.0.0:7070"
//   devices = ["cpu", "cpu"]
//   [identity.alice]
//   quota = "2GiB"
//
// Read into text; what a value means is for options.cpp. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace remora::server {

struct ConfigEntry {
  std::string key;
  std::string value;  // as on the command line; a list is joined by commas
  int line = 0;
};

struct Config {
  std::vector<ConfigEntry> options;
  std::map<std::string, std::vector<ConfigEntry>> identities;
};

/// Errors name the file and the line.
absl::StatusOr<Config> read_config(const std::string& path);

}  // namespace remora::server
