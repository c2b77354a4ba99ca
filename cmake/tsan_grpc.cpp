// Linked into every binary of the tsan preset, and only there. A distribution's gRPC is not
// instrumented, so ThreadSanitizer cannot see that what a thread hands to gRPC happens before the
// callback that gRPC runs for it, on whatever thread. The functions at the end take the place of
// gRPC's own in calls from libgrpc++, since the dynamic linker looks into the program first; each
// says one such order and calls the original.
//
// The orders are those of gRPC's contract and no wider: from a batch to its completion, from a
// closure to its run, from a slice to its destruction, from the start of servers to their calls,
// from calls to the destruction of servers. Two callbacks of one reactor that share a member
// without more are still a race.
#if __has_include(<grpc/grpc.h>)

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

/// gRPC's function behind the one of this program that has its name.
template <class Function>
Function* behind(Function* /*stand_in*/, const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

using Functor = grpc_completion_queue_functor;
using Run = decltype(Functor::functor_run);

/// The functions that functors had: the few that libgrpc++ and its headers define.
constexpr size_t kMaxRuns = 16;
std::array<std::atomic<Run>, kMaxRuns> runs;

/// Runs instead of the function in `runs[kIndex]`.
template <size_t kIndex>
void run_completed(Functor* self, int ok) {
  __tsan_acquire(self);
  runs[kIndex].load()(self, ok);
}

template <size_t... kIndices>
constexpr std::array<Run, kMaxRuns> make_stand_ins(std::index_sequence<kIndices...> /*indices*/) {
  return {run_completed<kIndices>...};
}
constexpr auto kStandIns = make_stand_ins(std::make_index_sequence<kMaxRuns>());

bool is_code(Run run) {
  struct Search {
    uintptr_t address;
    bool found;
  } search{reinterpret_cast<uintptr_t>(run), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t /*size*/, void* argument) {
        auto& wanted = *static_cast<Search*>(argument);
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (wanted.address - begin < segment.p_memsz) wanted.found = true;
        }
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

/// Makes a batch's callback begin with an acquire. A tag is a functor if its queue runs callbacks,
/// and an object with a table of virtual functions otherwise: its first word points to code or to
/// data.
void stand_in(void* tag) {
  auto& functor = *static_cast<Functor*>(tag);
  for (const Run each : kStandIns) {
    if (functor.functor_run == each) return;
  }
  for (size_t i = 0; i < kMaxRuns; ++i) {
    Run known = runs[i].load();
    if (known == nullptr) {
      if (!is_code(functor.functor_run)) return;
      if (runs[i].compare_exchange_strong(known, functor.functor_run)) known = functor.functor_run;
    }
    if (known == functor.functor_run) {
      functor.functor_run = kStandIns[i];
      return;
    }
  }
  std::abort();  // kMaxRuns is too small
}

/// The beginning of gRPC 1.51's grpc_closure.
struct Closure {
  uintptr_t next;
  void (*callback)(void* argument, void* error);
  void* argument;
};

struct DeferredRun {
  Closure* closure;
  decltype(Closure::callback) callback;
  void* argument;
};

struct DeferredDestroy {
  void (*destroy)(void* data);
  void* data;
};

/// `deferred` as an argument that brings its order along.
template <class Deferred>
void* give(Deferred deferred) {
  auto given = std::make_unique<Deferred>(deferred);
  __tsan_release(given.get());
  return given.release();
}

template <class Deferred>
Deferred take(void* given) {
  __tsan_acquire(given);
  return *std::unique_ptr<Deferred>(static_cast<Deferred*>(given));
}

/// Makes what the closure calls come after this.
void defer(Closure& closure) {
  closure.argument = give(DeferredRun{&closure, closure.callback, closure.argument});
  closure.callback = [](void* given, void* error) {
    const auto deferred = take<DeferredRun>(given);
    // As it was: gRPC may run a closure again.
    deferred.closure->callback = deferred.callback;
    deferred.closure->argument = deferred.argument;
    deferred.callback(deferred.argument, error);
  };
}

char server_starts;  // what servers' calls come after
char ended_calls;    // what servers' destruction comes after

}  // namespace

#define REAL(name) static auto* const real = behind(&(name), #name)

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                      void* reserved) {
  REAL(grpc_call_start_batch);
  stand_in(tag);
  __tsan_release(tag);
  return real(call, ops, count, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  REAL(grpc_completion_queue_next);
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  REAL(grpc_completion_queue_pluck);
  const grpc_event event = real(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_slice grpc_slice_new_with_user_data(void* bytes, size_t size, void (*destroy)(void* data),
                                         void* data) {
  REAL(grpc_slice_new_with_user_data);
  const auto destroy_later = [](void* given) {
    const auto deferred = take<DeferredDestroy>(given);
    deferred.destroy(deferred.data);
  };
  return real(bytes, size, destroy_later, give(DeferredDestroy{destroy, data}));
}

void grpc_server_start(grpc_server* server) {
  REAL(grpc_server_start);
  __tsan_release(&server_starts);
  real(server);
}

// The first thing that gRPC's headers do with a server's new call.
void grpc_call_ref(grpc_call* call) {
  REAL(grpc_call_ref);
  __tsan_acquire(&server_starts);
  real(call);
}

// The last thing that gRPC's headers do with a call, after a reactor's OnDone.
void grpc_call_unref(grpc_call* call) {
  REAL(grpc_call_unref);
  __tsan_release(&ended_calls);
  real(call);
}

void grpc_server_destroy(grpc_server* server) {
  REAL(grpc_server_destroy);
  real(server);
  __tsan_acquire(&ended_calls);
}

}  // extern "C"

// grpc_core::Executor::Run: how libgrpc++ calls OnDone and OnCancel on another thread.
#define EXECUTOR_RUN                                                \
  "_ZN9grpc_core8Executor3RunEP12grpc_closureN" REMORA_ABSL_MANGLED \
  "6StatusENS_12ExecutorTypeENS_15ExecutorJobTypeE"
void executor_run(void* closure, void* error, int type, int length) asm(EXECUTOR_RUN);
void executor_run(void* closure, void* error, int type, int length) {
  static auto* const real = behind(&executor_run, EXECUTOR_RUN);
  defer(*static_cast<Closure*>(closure));
  real(closure, error, type, length);
}

// ServerCallbackCall::ScheduleOnDone: called by whoever is the last to lower the count of what a
// call still waits for, and that may be libgrpc++, whose own lowering is not seen. The count comes
// behind the table of virtual functions and another count.
#define SCHEDULE_ON_DONE "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb"
void schedule_on_done(void* call, bool here) asm(SCHEDULE_ON_DONE);
void schedule_on_done(void* call, bool here) {
  static auto* const real = behind(&schedule_on_done, SCHEDULE_ON_DONE);
  __tsan_acquire(static_cast<char*>(call) + sizeof(void*) + sizeof(int));
  real(call, here);
}

// grpc_timer_init: how grpc::Alarm calls back.
#define TIMER_INIT "_Z15grpc_timer_initP10grpc_timerN9grpc_core9TimestampEP12grpc_closure"
void timer_init(void* timer, int64_t deadline_ms, void* closure) asm(TIMER_INIT);
void timer_init(void* timer, int64_t deadline_ms, void* closure) {
  static auto* const real = behind(&timer_init, TIMER_INIT);
  defer(*static_cast<Closure*>(closure));
  real(timer, deadline_ms, closure);
}

#endif
