// Errors. A program sees `remora::Error`; inside the library, threads, kernels and the wire carry
// `absl::Status`, and the two are converted here, at the edge.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace remora {

/// What every public function throws. `code()` is the machine-readable kind: INVALID_ARGUMENT for
/// shapes and dtypes, NOT_FOUND for unknown names and ids, UNIMPLEMENTED for an op or dtype that a
/// device lacks, RESOURCE_EXHAUSTED for quota and memory, UNAVAILABLE for a worker that is gone.
class Error : public std::runtime_error {
 public:
  explicit Error(const absl::Status& status)
      : std::runtime_error(std::string(status.message())), code_(status.code()) {}
  absl::StatusCode code() const { return code_; }
  absl::Status status() const { return {code_, what()}; }

 private:
  absl::StatusCode code_;
};

/// Throws `Error` unless the status is OK.
inline void throw_if_error(const absl::Status& status) {
  if (!status.ok()) throw Error(status);
}

/// The value, or throws `Error`.
template <typename T>
T value_or_throw(absl::StatusOr<T> result) {
  if (!result.ok()) throw Error(result.status());
  return *std::move(result);
}

/// Returns the status from the enclosing function unless it is OK.
#define REMORA_RETURN_IF_ERROR(expression) \
  REMORA_RETURN_IF_ERROR_(REMORA_CONCAT(status_, __COUNTER__), expression)
#define REMORA_RETURN_IF_ERROR_(status, expression)                      \
  do {                                                                   \
    if (absl::Status status = (expression); !status.ok()) return status; \
  } while (false)

#define REMORA_CONCAT_(a, b) a##b
#define REMORA_CONCAT(a, b) REMORA_CONCAT_(a, b)
/// Declares `target` from a StatusOr, or returns its status from the enclosing function.
#define REMORA_ASSIGN_OR_RETURN(target, expression) \
  REMORA_ASSIGN_OR_RETURN_(REMORA_CONCAT(result_, __LINE__), target, expression)
#define REMORA_ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                                \
  if (!result.ok()) return std::move(result).status();       \
  target = *std::move(result)

}  // namespace remora
