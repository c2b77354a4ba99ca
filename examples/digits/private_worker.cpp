#include "examples/digits/private_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::digits {

namespace {

constexpr int kStartDeadline_ms = 30'000;
constexpr int kStopDeadline_ms = 5'000;
constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxFirstLine = 4096;
constexpr size_t kMaxLogBytes = 16 << 10;
constexpr std::string_view kGreeting = "listening on ";

[[noreturn]] void fail(const std::string& what) {
  throw Error(absl::UnavailableError(str_cat("the private worker: ", what)));
}

[[noreturn]] void fail_errno(const std::string& what) {
  fail(str_cat(what, ": ", std::strerror(errno)));
}

std::string fresh_token() {
  std::array<unsigned char, kTokenBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fail_errno("no random bytes for a token");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string own_path(int descriptor) { return str_cat("/proc/self/fd/", descriptor); }

int remaining_ms(std::chrono::steady_clock::time_point deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
}

}  // namespace

PrivateWorker::Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}
PrivateWorker::Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}
PrivateWorker::Descriptor& PrivateWorker::Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

PrivateWorker::Descriptor PrivateWorker::memory_file(const char* name) {
  Descriptor file(memfd_create(name, 0));  // inherited: the worker opens it by its number
  if (file.get() < 0 || fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) fail_errno("no memory file");
  return file;
}

PrivateWorker::PrivateWorker(const std::filesystem::path& remorad)
    : token_(memory_file("remora-token")), log_(memory_file("remora-worker-log")) {
  if (access(remorad.c_str(), X_OK) != 0) fail_errno(str_cat("cannot run ", remorad.string()));
  const std::string token = fresh_token();
  if (write(token_.get(), token.data(), token.size()) != static_cast<ssize_t>(token.size())) {
    fail_errno("cannot store the token");
  }
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno("no pipe");
  output_ = Descriptor(ends[0]);
  start(remorad, Descriptor(ends[1]));
  const std::string line = first_line();
  if (line.compare(0, kGreeting.size(), kGreeting) != 0) {
    stop();
    fail(str_cat("did not start: ", line, "\n", log_text()));
  }
  address_ = line.substr(kGreeting.size());
  setenv("REMORA_TOKEN_FILE", own_path(token_.get()).c_str(), 1);
}

PrivateWorker::~PrivateWorker() { stop(); }

void PrivateWorker::start(const std::filesystem::path& remorad, const Descriptor& output) {
  const std::string program = remorad.string();
  const std::string token_path = own_path(token_.get());
  const std::array<const char*, 7> arguments = {
      program.c_str(),    "--listen",           "127.0.0.1:0", "--token-file",
      token_path.c_str(), "--exit-with-parent", nullptr};
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) fail_errno("cannot fork");
  if (process_ > 0) return;
  // In the child, until exec: system calls only.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // the parent ended before the kernel was asked
  dup2(output.get(), STDOUT_FILENO);
  dup2(log_.get(), STDERR_FILENO);
  execv(program.c_str(), const_cast<char* const*>(arguments.data()));
  _exit(127);
}

std::string PrivateWorker::first_line() const {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kStartDeadline_ms);
  std::string line;
  while (line.size() < kMaxFirstLine) {
    pollfd waiting{output_.get(), POLLIN, 0};
    const int left = remaining_ms(deadline);
    if (left <= 0 || poll(&waiting, 1, left) == 0) return "no answer in time";
    char letter = 0;
    const ssize_t count = read(output_.get(), &letter, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || letter == '\n') return line;
    line += letter;
  }
  return line;
}

std::string PrivateWorker::log_text() const {
  std::string text(kMaxLogBytes, '\0');
  const ssize_t count = pread(log_.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

void PrivateWorker::stop() {
  if (process_ <= 0) return;
  const pid_t process = std::exchange(process_, -1);
  kill(process, SIGTERM);
  // A process that ends closes its stdout: that is what is waited for.
  pollfd waiting{output_.get(), 0, 0};
  poll(&waiting, 1, kStopDeadline_ms);
  if (waitpid(process, nullptr, WNOHANG) == process) return;
  if ((waiting.revents & POLLHUP) == 0) kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}

}  // namespace remora::digits
