#include "client/remote/op_error.h"

#include <cstdio>
#include <exception>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace remora::remote {
namespace {

using Callback = std::function<void(const RemoteOpError&)>;

struct ErrorCallback {
  absl::Mutex mutex;  // guards callback
  // Shared, so that a call in progress keeps what it runs.
  std::shared_ptr<const Callback> callback ABSL_GUARDED_BY(mutex);
};

ErrorCallback& error_callback() {
  static auto& instance = *std::make_unique<ErrorCallback>().release();  // outlives every thread
  return instance;
}

}  // namespace

void set_error_callback(std::function<void(const RemoteOpError&)> callback) {
  std::shared_ptr<const Callback> fresh;
  if (callback) fresh = std::make_shared<const Callback>(std::move(callback));
  const absl::MutexLock lock(&error_callback().mutex);
  error_callback().callback.swap(fresh);
}

void report_op_error(const RemoteOpError& error) {
  std::shared_ptr<const Callback> callback;
  {
    const absl::MutexLock lock(&error_callback().mutex);
    callback = error_callback().callback;
  }
  if (callback == nullptr) return;
  try {
    (*callback)(error);
  } catch (const std::exception& thrown) {
    // Nobody could catch it further up: this is a thread of the connection.
    std::fprintf(stderr, "remora: the error callback threw: %s\n", thrown.what());
  } catch (...) {
    std::fputs("remora: the error callback threw\n", stderr);
  }
}

}  // namespace remora::remote
