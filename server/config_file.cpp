#include "server/config_file.h"

#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/credential_file.h"
#include "proto/limits.h"
#include "server/limits.h"
#include "toml++/toml.h"

namespace remora::server {
namespace {

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

absl::Status mistake(int line, std::string_view what) {
  return absl::InvalidArgumentError(str_cat(line, ": ", what));
}

/// A value as the command line would have it.
absl::StatusOr<std::string> text_of(const std::string& key, const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<int64_t>()) return std::to_string(*number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  if (const toml::array* list = node.as_array()) {
    std::string joined;
    for (const toml::node& each : *list) {
      const auto text = each.value_exact<std::string>();
      if (!text.has_value()) {
        return mistake(line_of(each),
                       str_cat("the list '", key, "' holds something else than text"));
      }
      joined += str_cat(joined.empty() ? "" : ",", *text);
    }
    return joined;
  }
  return mistake(line_of(node),
                 str_cat("'", key, "' is neither text, a whole number, true or false, nor a list"));
}

absl::StatusOr<std::vector<ConfigEntry>> entries_of(const toml::table& table) {
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : table) {
    ConfigEntry entry{std::string(key.str()), "", static_cast<int>(key.source().begin.line)};
    REMORA_ASSIGN_OR_RETURN(entry.value, text_of(entry.key, node));
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::StatusOr<Config> config_of(toml::table& table) {
  Config config;
  if (const toml::node* node = table.get("identity")) {
    const toml::table* identities = node->as_table();
    if (identities == nullptr) {
      return mistake(line_of(*node), "'identity' is not a table; [identity.NAME] is right");
    }
    for (const auto& [key, each] : *identities) {
      const std::string name(key.str());
      const int line = static_cast<int>(key.source().begin.line);
      const toml::table* limits = each.as_table();
      if (limits == nullptr || name.empty() || name.size() > wire::kMaxIdentityNameBytes) {
        return mistake(line, str_cat("'identity.", name,
                                     "' is not a table with the limits of an "
                                     "identity"));
      }
      REMORA_ASSIGN_OR_RETURN(config.identities[name], entries_of(*limits));
    }
    table.erase("identity");
  }
  REMORA_ASSIGN_OR_RETURN(config.options, entries_of(table));
  return config;
}

absl::StatusOr<Config> parse(const std::string& content) {
  try {
    toml::table table = toml::parse(content);
    return config_of(table);
  } catch (const toml::parse_error& error) {
    return mistake(static_cast<int>(error.source().begin.line), error.description());
  }
}

}  // namespace

absl::StatusOr<Config> read_config(const std::string& path) {
  const absl::StatusOr<std::string> content = wire::read_credential_file(path, kMaxConfigBytes);
  if (!content.ok()) {
    return absl::Status(content.status().code(), str_cat("--config: '", path, "' ",
                                                         std::string(content.status().message())));
  }
  absl::StatusOr<Config> config = parse(*content);
  if (config.ok()) return config;
  return absl::Status(config.status().code(),
                      str_cat("--config: ", path, ":", std::string(config.status().message())));
}

}  // namespace remora::server
