#include "tests/support/worker_process.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "gtest/gtest.h"
#include "proto/token.h"

namespace remora::test {
namespace {

constexpr char kListening[] = "listening on ";

std::string make_folder() {
  std::string pattern = std::filesystem::temp_directory_path() / "remora-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
  return pattern;
}

}  // namespace

void write_private(const std::string& path, const std::string& content) {
  std::ofstream(path) << "";
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  std::ofstream(path) << content;
}

std::string token_line(const std::string& name, const std::string& token) {
  return name + ":" + wire::to_hex(wire::token_hash(token)) + "\n";
}

std::string remorad_path() { return std::string(REMORA_BIN_DIR) + "/remorad"; }

WorkerProcess::WorkerProcess(WorkerOptions options)
    : options_(std::move(options)), folder_(make_folder()) {
  std::vector<std::string> argv = {remorad_path(), "--exit-with-parent=" + std::to_string(getpid()),
                                   "--listen",
                                   options_.tcp ? "127.0.0.1:0" : "unix:" + folder_ + "/socket"};
  if (!options_.token.empty()) {
    write_private(token_file(), options_.token + "\n");
    write_private(folder_ + "/tokens", token_line("test", options_.token));
    argv.insert(argv.end(), {"--token-file", folder_ + "/tokens"});
  } else if (options_.tcp && !options_.tls) {
    argv.emplace_back("--insecure");
  }
  argv.insert(argv.end(), options_.flags.begin(), options_.flags.end());
  process_ = std::make_unique<ChildProcess>(argv);
  const std::string line = process_->read_line();
  if (line.rfind(kListening, 0) != 0) {
    throw std::runtime_error("the worker's first line is '" + line +
                             "', not 'listening on ADDRESS'");
  }
  address_ = line.substr(sizeof(kListening) - 1);
}

WorkerProcess::~WorkerProcess() {
  const std::string errors = process_->errors();
  if (errors.find("Sanitizer: ") != std::string::npos) ADD_FAILURE() << errors;
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string WorkerProcess::device(const std::string& inner) const {
  if (options_.tcp) return "remote://" + address_ + "/" + inner;
  return "remote+unix://" + address_.substr(5) + "/" + inner;
}

std::string WorkerProcess::token_file() const { return folder_ + "/token"; }

ExitState WorkerProcess::terminate() {
  process_->send_signal(SIGTERM);
  return process_->wait();
}

}  // namespace remora::test
