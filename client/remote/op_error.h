// Errors of operations that failed on a worker, reported as they arrive. The same errors surface,
// in any case, at the next read of a tensor that depends on the failed operation. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace remora::remote {

struct RemoteOpError {
  absl::Status status;
  std::string worker;     // address
  std::string device;     // the worker's device text
  std::string op;         // name of the operation
  uint64_t window = 0;    // this program's window number
  uint32_t op_index = 0;  // the op's place in it
};

/// Called on a thread of the library for every operation that failed on any worker; an empty
/// function turns it off. It must not throw and must not wait for a worker.
void set_error_callback(std::function<void(const RemoteOpError&)> callback);

/// Calls what `set_error_callback` was given.
void report_op_error(const RemoteOpError& error);

}  // namespace remora::remote
