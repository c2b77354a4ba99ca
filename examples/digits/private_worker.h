// A worker daemon of this program's own: started beside it, gone with it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace remora::digits {

/// Starts `remorad` on a free loopback port with a fresh token. The token lives in a memory file
/// that only this process and the worker hold, so nothing is ever left on disk. The kernel ends the
/// worker if this process ends in any way.
class PrivateWorker {
 public:
  /// Throws remora::Error with what the worker said if it does not come up. Call it before any
  /// device is opened: it forks, and hands the token to this process through REMORA_TOKEN_FILE.
  explicit PrivateWorker(const std::filesystem::path& remorad);
  /// Ends the worker and waits for it.
  ~PrivateWorker();
  PrivateWorker(const PrivateWorker&) = delete;
  PrivateWorker& operator=(const PrivateWorker&) = delete;

  /// "127.0.0.1:40123".
  const std::string& address() const { return address_; }

 private:
  class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    int get() const { return number_; }

   private:
    int number_ = -1;
  };

  static Descriptor memory_file(const char* name);
  void start(const std::filesystem::path& remorad, const Descriptor& output);
  std::string first_line() const;
  std::string log_text() const;
  void stop();

  pid_t process_ = -1;
  Descriptor token_;
  Descriptor log_;     // the worker's stderr, told only if it fails
  Descriptor output_;  // our end of its stdout
  std::string address_;
};

}  // namespace remora::digits
