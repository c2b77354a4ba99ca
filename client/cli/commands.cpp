#include "client/cli/commands.h"

#include <cstdio>
#include <string_view>

#include "CLI/CLI.hpp"
#include "client/cli/bench_cpu.h"
#include "client/cli/bench_training.h"
#include "client/cli/bench_wire.h"
#include "client/cli/doctor.h"
#include "client/cli/exit_codes.h"
#include "client/cli/ping.h"
#include "client/cli/standard_output.h"
#include "client/cli/token.h"
#include "dispatch/build_info.h"
#include "dispatch/error.h"

namespace remora::cli {
namespace {

void add_worker_options(CLI::App& command, PingOptions& options) {
  command.add_option(
      "address", options.address,
      "host:port, unix:/path or a device text such as remote://host:port; without it, the "
      "first of REMORA_WORKERS");
  add_credentials(command, options.credentials);
  command.add_flag("--json", options.json, "print JSON");
}

/// The program that these arguments are for, with its name taken away, or none.
const Program* chosen_program(int& argc, char**& argv, std::span<const Program> programs) {
  if (argc < 1) return nullptr;
  const std::string_view path = argv[0];
  const std::string_view called = path.substr(path.rfind('/') + 1);
  for (const Program& program : programs) {
    if (called == program.file_name) return &program;
    if (argc > 1 && std::string_view(argv[1]) == program.name) {
      --argc;
      ++argv;
      return &program;
    }
  }
  return nullptr;
}

int run(int argc, char** argv, std::span<const Program> programs) {
  CLI::App app("Looks at Remora's workers and measures them.", "remora");
  app.footer(kExitCodesText);
  app.set_version_flag("--version", std::string(dispatch::build_version()));
  app.require_subcommand(1);

  PingOptions ping_options;
  CLI::App* const ping_command = app.add_subcommand(
      "ping", "Reach a worker layer by layer: name, connection, TLS, token, version, round trip");
  add_worker_options(*ping_command, ping_options);
  ping_command->add_option("--count", ping_options.count, "round trips to measure")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  ping_command->add_flag("--health", ping_options.health,
                         "ask only whether it serves (grpc.health.v1): without a token or a "
                         "session, for probes");

  PingOptions devices_options;
  CLI::App* const devices_command = app.add_subcommand(
      "devices", "List the devices of a worker, or those a program here would find");
  add_worker_options(*devices_command, devices_options);

  DoctorOptions doctor_options;
  CLI::App* const doctor_command = app.add_subcommand(
      "doctor", "Examine this machine: devices, drivers, libraries, settings, workers");
  doctor_command->add_flag("--json", doctor_options.json, "print JSON");

  CLI::App* const bench_command = app.add_subcommand("bench", "Measure");
  bench_command->require_subcommand(1);
  BenchWireOptions wire_options;
  CLI::App* const wire_command = bench_command->add_subcommand(
      "wire", "Round trips and eager operations, beside a bare gRPC round trip of the same run");
  wire_command->add_option("--worker", wire_options.worker,
                           "host:port or unix:/path; without it, private workers are started");
  add_credentials(*wire_command, wire_options.credentials);
  wire_command
      ->add_option("--rounds", wire_options.rounds, "rounds to measure after one that warms up")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  wire_command->add_flag("--json", wire_options.json, "print JSON");

  BenchCpuOptions cpu_options;
  CLI::App* const cpu_command = bench_command->add_subcommand(
      "cpu", "Operations of each family on this machine's processors");
  cpu_command->add_option("--rounds", cpu_options.rounds, "rounds to measure")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  cpu_command->add_option("--only", cpu_options.only,
                          "operations whose key begins so, and nothing else");
  cpu_command->add_flag("--json", cpu_options.json, "print JSON");

  BenchTrainingOptions training_options;
  CLI::App* const training_command = bench_command->add_subcommand(
      "training",
      "Memory and time of a training step of transformer blocks, plain and with checkpointing");
  const auto add_count = [&](const std::string& name, auto& count, const std::string& what) {
    training_command->add_option(name, count, what)
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
  };
  add_count("--rounds", training_options.rounds, "rounds to measure");
  add_count("--layers", training_options.layers, "blocks");
  add_count("--width", training_options.width, "of a token");
  add_count("--heads", training_options.heads, "of the attention; they divide the width");
  add_count("--batch", training_options.batch, "sequences");
  add_count("--length", training_options.length, "tokens of a sequence");
  training_command->add_option("--dropout", training_options.dropout, "probability")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  training_command->add_flag("--json", training_options.json, "print JSON");

  CLI::App* const token_command =
      app.add_subcommand("token", "Tokens by which a worker knows who calls");
  token_command->require_subcommand(1);
  TokenOptions token_options;
  CLI::App* const new_command = token_command->add_subcommand(
      "new", "Make a token, and its line for the worker's --token-file");
  new_command->add_option("name", token_options.name, "who brings the token")->required();
  new_command->add_option("--out", token_options.file,
                          "new file for the token, which then is not printed");
  new_command->add_flag("--json", token_options.json, "print JSON");
  CLI::App* const hash_command =
      token_command->add_subcommand("hash", "The worker's line for a token that there is already");
  hash_command->add_option("name", token_options.name, "who brings the token")->required();
  hash_command->add_option("file", token_options.file, "file with the token")->required();

  // Never parsed: `remora_main` has looked at the first argument before. They are here for --help.
  for (const Program& program : programs) app.add_subcommand(program.name, program.description);

  CLI::App* const echo_command = app.add_subcommand("echo-server")->group("");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  if (ping_command->parsed()) return ping(ping_options);
  if (devices_command->parsed()) return devices(devices_options);
  if (doctor_command->parsed()) return doctor(doctor_options);
  if (echo_command->parsed()) return serve_echo();
  if (training_command->parsed()) return bench_training(training_options);
  if (cpu_command->parsed()) return bench_cpu(cpu_options);
  if (new_command->parsed()) return new_token(token_options);
  if (hash_command->parsed()) return hash_token(token_options);
  return bench_wire(wire_options);
}

}  // namespace

int remora_main(int argc, char** argv, std::span<const Program> programs) {
  try {
    if (const Program* const program = chosen_program(argc, argv, programs)) {
      return program->main(argc, argv);
    }
    const int code = run(argc, argv, programs);
    if (is_stdout_written()) return code;
    std::fputs("remora: the output could not be written\n", stderr);
    return kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remora: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace remora::cli
