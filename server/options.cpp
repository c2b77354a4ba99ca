#include "server/options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/strip.h"
#include "dispatch/build_info.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/default_socket.h"
#include "server/config_file.h"
#include "server/limits.h"
#include "server/listen_address.h"
#include "server/option_values.h"

namespace remora::server {
namespace {

constexpr char kExamples[] = R"(
Examples:
  remorad                                     the CPU, on a unix socket that only this user can open
  remora token new alice --out alice.token >> tokens && chmod 600 tokens
  remorad --listen 127.0.0.1:7070 --token-file tokens
                                              programs on this machine that know a token
  remorad --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem --token-file tokens
                                              programs elsewhere, encrypted
  remorad --listen 127.0.0.1:0 --insecure     anybody on this machine, on a free port
  remorad --devices cpu,cpu --threads 2 --memory-limit cpu=2GiB
                                              cpu:0 and cpu:1, two threads and 2 GiB each
  remorad --config /etc/remora/remorad.toml   options from a file: listen = "0.0.0.0:7070", ...
A program reaches the worker as remote://HOST:PORT/cpu or remote+unix://PATH/cpu, and the default
socket as remote. The first line on stdout is "listening on ADDRESS"; logs go to stderr. SIGTERM and
SIGINT end all sessions.
Exit codes: 0 ended by a signal or with its parent; 1 it could not serve, the reason is on stderr;
2 a mistake on the command line or in the configuration file.)";

constexpr std::array kLogLevels = {"trace", "debug", "info", "warning", "error", "critical", "off"};

/// Options that are text until all of them are known.
struct Texts {
  std::string devices = "cpu";
  std::string settings = DeviceSettings().str();
  std::optional<std::string> memory_limits;
  std::string session_quota;
  std::string identity_quota;
  std::string identity_in_flight;
  std::string identity_sessions;
  std::string idle_timeout = duration_text(kIdleTimeout_ms);
  std::string reply_timeout = duration_text(kReplyTimeout_ms);
  std::string keepalive = duration_text(wire::kKeepaliveInterval_ms);
  std::string config;
};

/// Options that make no sense in a file.
bool is_for_command_line(const std::string& key) {
  return key == "config" || key == "help" || key == "version" || key == "exit-with-parent";
}

/// A check of CLI11 that is a parser of ours.
template <typename Parse>
std::function<std::string(const std::string&)> parsed_by(Parse parse) {
  return [parse](const std::string& text) {
    const auto result = parse(text);
    return result.ok() ? std::string() : std::string(result.status().message());
  };
}

void add_quotas(CLI::App& app, Texts& texts) {
  app.add_option("--session-quota", texts.session_quota,
                 "bytes one session may hold (default: the devices' limits)")
      ->check(parsed_by(parse_bytes));
  app.add_option("--identity-quota", texts.identity_quota,
                 "bytes all sessions of one identity may hold (default: the devices' limits)")
      ->check(parsed_by(parse_bytes));
  app.add_option("--identity-in-flight", texts.identity_in_flight,
                 "bytes of one identity on their way to devices (default: its quota)")
      ->check(parsed_by(parse_bytes));
  app.add_option(
         "--identity-sessions", texts.identity_sessions,
         str_cat("sessions of one identity (default: the worker's ", wire::kMaxSessions, ")"))
      ->check(parsed_by(parse_count));
  app.add_option("--idle-timeout", texts.idle_timeout,
                 "ends a session whose client sends nothing for so long; 0: never")
      ->capture_default_str()
      ->check(parsed_by(parse_duration));
  app.add_option("--reply-timeout", texts.reply_timeout,
                 "ends a session whose client takes no reply for so long; 0: never")
      ->capture_default_str()
      ->check(parsed_by(parse_duration));
  app.add_option("--keepalive", texts.keepalive,
                 "asks a silent peer whether it is there; it has half that time to answer")
      ->capture_default_str()
      ->check(parsed_by([](const std::string& text) -> absl::StatusOr<std::chrono::milliseconds> {
        REMORA_ASSIGN_OR_RETURN(const auto time, parse_duration(text));
        if (time >= std::chrono::milliseconds(kMinKeepalive_ms)) return time;
        return absl::InvalidArgumentError(
            str_cat("'", text, "' is too short; at least ", kMinKeepalive_ms, "ms is right"));
      }));
}

void add_access(CLI::App& app, Options& options) {
  app.add_option("--token-file", options.token_file,
                 "file with lines NAME:SHA256, as `remora token new NAME` prints them; mode 0600");
  app.add_option("--tls-cert", options.tls_certificate,
                 "PEM file with the worker's certificate, then those between it and its CA");
  app.add_option("--tls-key", options.tls_key, "PEM file with its key; mode 0600");
  app.add_option(
      "--tls-client-ca", options.tls_client_ca,
      "PEM file with the authorities of clients' certificates; without --token-file every "
      "client needs one");
  app.add_flag("--insecure", options.insecure,
               "serve any address without TLS, and TCP without a token or certificate");
}

void add_options(CLI::App& app, Options& options, Texts& texts) {
  app.set_version_flag("--version", str_cat("remorad ", dispatch::build_version(), " (",
                                            dispatch::build_fingerprint(), ")"));
  app.add_option("--config", texts.config,
                 "TOML file with these options, without their dashes; the command line wins");
  app.add_option("--listen", options.listen, "host:port (port 0: a free one) or unix:PATH")
      ->capture_default_str();
  app.add_option("--devices", texts.devices,
                 "what to serve: cpu, or cpu,cpu for cpu:0 and cpu:1; cuda? where there is one")
      ->capture_default_str()
      ->check(parsed_by(parse_devices));
  app.add_option(
         "--settings", texts.settings,
         "defaults of clients that say nothing: float=bf16,int=i32,tf32=on,deterministic=on")
      ->capture_default_str()
      ->check(parsed_by(dispatch::parse_device_settings));
  app.add_option("--memory-limit", texts.memory_limits, "bytes of each device of a kind: cpu=2GiB");
  app.add_option("--threads", options.threads,
                 "threads of each cpu device (0: one per core that this process may use)")
      ->capture_default_str()
      ->check(CLI::Range(0, kMaxThreads));
  add_access(app, options);
  add_quotas(app, texts);
  app.add_option("--log-level", options.log_level,
                 "trace, debug, info, warning, error, critical or off")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(kLogLevels.begin(), kLogLevels.end())));
  app.add_flag(
      "--exit-with-parent", options.parent,
      "end when the process that started this ends; =PID names it, in case it ends at once");
}

absl::StatusOr<IdentityLimits> limits_of(const std::vector<ConfigEntry>& entries,
                                         const std::string& file) {
  IdentityLimits limits;
  for (const ConfigEntry& entry : entries) {
    absl::Status status;
    const auto take = [&](auto& target, auto&& parsed) {
      status = parsed.status();
      if (status.ok()) target = *std::forward<decltype(parsed)>(parsed);
    };
    if (entry.key == "devices") {
      take(limits.devices, parse_devices(entry.value));
    } else if (entry.key == "quota") {
      take(limits.bytes, parse_bytes(entry.value));
    } else if (entry.key == "in-flight") {
      take(limits.in_flight_bytes, parse_bytes(entry.value));
    } else if (entry.key == "sessions") {
      take(limits.sessions, parse_count(entry.value));
    } else {
      status = absl::InvalidArgumentError(
          "no limit of an identity; right are devices, quota, in-flight and sessions");
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(str_cat("--config: ", file, ":", entry.line, ": '",
                                                entry.key, "': ", std::string(status.message())));
    }
  }
  return limits;
}

/// Takes from the file what the command line does not say.
absl::Status apply_config(CLI::App& app, const std::string& file, Options& options) {
  REMORA_ASSIGN_OR_RETURN(const Config config, read_config(file));
  for (const ConfigEntry& entry : config.options) {
    const auto mistake = [&](std::string_view what) {
      return absl::InvalidArgumentError(str_cat("--config: ", file, ":", entry.line, ": ", what));
    };
    CLI::Option* const option = is_for_command_line(entry.key)
                                    ? nullptr
                                    : app.get_option_no_throw(str_cat("--", entry.key));
    if (option == nullptr) {
      return mistake(str_cat("'", entry.key, "' is no option; `remorad --help` lists them"));
    }
    if (option->count() > 0) continue;
    try {
      option->add_result(entry.value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return mistake(error.what());
    }
  }
  for (const auto& [name, entries] : config.identities) {
    REMORA_ASSIGN_OR_RETURN(options.identities[name], limits_of(entries, file));
  }
  return absl::OkStatus();
}

/// What the checks of the options have let through.
absl::Status take_texts(const Texts& texts, Options& options) {
  REMORA_ASSIGN_OR_RETURN(options.devices, parse_devices(texts.devices));
  REMORA_ASSIGN_OR_RETURN(options.settings, dispatch::parse_device_settings(texts.settings));
  const auto bytes = [](const std::string& text, std::optional<int64_t>& target) -> absl::Status {
    if (text.empty()) return absl::OkStatus();
    REMORA_ASSIGN_OR_RETURN(target, parse_bytes(text));
    return absl::OkStatus();
  };
  REMORA_RETURN_IF_ERROR(bytes(texts.session_quota, options.session_quota_bytes));
  IdentityLimits& identity = options.identity_defaults;
  REMORA_RETURN_IF_ERROR(bytes(texts.identity_quota, identity.bytes));
  REMORA_RETURN_IF_ERROR(bytes(texts.identity_in_flight, identity.in_flight_bytes));
  if (!texts.identity_sessions.empty()) {
    REMORA_ASSIGN_OR_RETURN(identity.sessions, parse_count(texts.identity_sessions));
  }
  REMORA_ASSIGN_OR_RETURN(options.idle_timeout, parse_duration(texts.idle_timeout));
  REMORA_ASSIGN_OR_RETURN(options.reply_timeout, parse_duration(texts.reply_timeout));
  REMORA_ASSIGN_OR_RETURN(options.keepalive, parse_duration(texts.keepalive));
  REMORA_RETURN_IF_ERROR(parse_listen_address(options.listen).status());
  if (!texts.memory_limits) return absl::OkStatus();
  auto limits = parse_memory_limits(*texts.memory_limits, options.devices);
  if (!limits.ok()) {
    return absl::InvalidArgumentError(
        str_cat("--memory-limit: ", std::string(limits.status().message())));
  }
  options.memory_limit_bytes = *std::move(limits);
  return absl::OkStatus();
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  Options options;
  Texts texts;
  options.listen = str_cat("unix:", wire::default_socket_path());
  CLI::App app{"remorad serves the devices of this machine to Remora programs."};
  app.footer(kExamples);
  add_options(app, options, texts);
  const auto mistake = [](std::string_view what) {
    return ParsedOptions{std::nullopt,
                         str_cat("remorad: ", what, "\n`remorad --help` lists the options\n"), 2};
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream out;
    app.exit(success, out, out);
    return {std::nullopt, out.str(), 0};
  } catch (const CLI::ParseError& error) {
    return mistake(error.what());
  }
  absl::Status status;
  if (!texts.config.empty()) status = apply_config(app, texts.config, options);
  if (status.ok()) status = take_texts(texts, options);
  if (!status.ok()) return mistake(std::string(status.message()));
  return {std::move(options), "", 0};
}

}  // namespace remora::server
