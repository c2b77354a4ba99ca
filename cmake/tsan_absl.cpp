// Linked into every binary of the tsan preset, and only there. A distribution's Abseil is not
// instrumented, so ThreadSanitizer cannot see that absl::Mutex orders what its holders do. The
// linker (--wrap) puts these functions around the library's, and they say so.
//
// A Condition is evaluated by whoever unlocks, under the lock but inside uninstrumented code: those
// accesses are ignored, since they are ordered by the very lock that is being left.
#include <cstdint>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace {

/// Ignores this thread's accesses while it is inside Abseil.
class InsideAbseil {
 public:
  InsideAbseil() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~InsideAbseil() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  InsideAbseil(const InsideAbseil&) = delete;
};

}  // namespace

// REMORA_ABSL_MANGLED is the mangled namespace, "4absl7debian3"; set by cmake/tsan.cmake, which
// lists the same functions for --wrap.
#define REAL(symbol) asm("__real__ZN" symbol)
#define WRAP(symbol) asm("__wrap__ZN" symbol)

#define LOCK REMORA_ABSL_MANGLED "5Mutex4LockEv"
#define UNLOCK REMORA_ABSL_MANGLED "5Mutex6UnlockEv"
#define AWAIT REMORA_ABSL_MANGLED "5Mutex5AwaitERKNS0_9ConditionE"
#define AWAIT_TIMEOUT REMORA_ABSL_MANGLED "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE"
#define WAIT_TIMEOUT "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE"
#define NOTIFY REMORA_ABSL_MANGLED "12Notification6NotifyEv"

/// absl::Duration: passed by value as two integer words.
struct DurationWords {
  int64_t high;
  uint32_t low;
};

void real_lock(void* mutex) REAL(LOCK);
void wrap_lock(void* mutex) WRAP(LOCK);
void wrap_lock(void* mutex) {
  real_lock(mutex);
  __tsan_acquire(mutex);
}

void real_unlock(void* mutex) REAL(UNLOCK);
void wrap_unlock(void* mutex) WRAP(UNLOCK);
void wrap_unlock(void* mutex) {
  __tsan_release(mutex);
  const InsideAbseil inside;
  real_unlock(mutex);
}

void real_await(void* mutex, const void* condition) REAL(AWAIT);
void wrap_await(void* mutex, const void* condition) WRAP(AWAIT);
void wrap_await(void* mutex, const void* condition) {
  __tsan_release(mutex);
  {
    const InsideAbseil inside;
    real_await(mutex, condition);
  }
  __tsan_acquire(mutex);
}

bool real_await_timeout(void* mutex, const void* condition, DurationWords timeout)
    REAL(AWAIT_TIMEOUT);
bool wrap_await_timeout(void* mutex, const void* condition, DurationWords timeout)
    WRAP(AWAIT_TIMEOUT);
bool wrap_await_timeout(void* mutex, const void* condition, DurationWords timeout) {
  __tsan_release(mutex);
  bool met = false;
  {
    const InsideAbseil inside;
    met = real_await_timeout(mutex, condition, timeout);
  }
  __tsan_acquire(mutex);
  return met;
}

void real_notify(void* notification) REAL(NOTIFY);
void wrap_notify(void* notification) WRAP(NOTIFY);
void wrap_notify(void* notification) {
  __tsan_release(notification);
  real_notify(notification);
}

// A const member function: its mangled name has a K after the N.
void real_wait(const void* notification) asm("__real__ZNK" REMORA_ABSL_MANGLED
                                             "12Notification19WaitForNotificationEv");
void wrap_wait(const void* notification) asm("__wrap__ZNK" REMORA_ABSL_MANGLED
                                             "12Notification19WaitForNotificationEv");
void wrap_wait(const void* notification) {
  real_wait(notification);
  __tsan_acquire(const_cast<void*>(notification));
}

bool real_wait_timeout(const void* notification,
                       DurationWords timeout) asm("__real__ZNK" REMORA_ABSL_MANGLED WAIT_TIMEOUT);
bool wrap_wait_timeout(const void* notification,
                       DurationWords timeout) asm("__wrap__ZNK" REMORA_ABSL_MANGLED WAIT_TIMEOUT);
bool wrap_wait_timeout(const void* notification, DurationWords timeout) {
  const bool notified = real_wait_timeout(notification, timeout);
  if (notified) __tsan_acquire(const_cast<void*>(notification));
  return notified;
}
