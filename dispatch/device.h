// Device: where a tensor lives. A small opaque value; copying it is free. Making one opens nothing:
// a device is opened, and a worker connected, at its first use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/error.h"

namespace remora {

enum class BackendKind : uint8_t {
#define BACKEND(number, enumerator, ...) enumerator = (number),
#include "dispatch/backends.def"
#undef BACKEND
};

/// Which ops backward recomputes instead of keeping their results.
enum class Checkpointing : uint8_t { kDisabled, kBalanced };

namespace dispatch {

class DeviceState;
struct DeviceInfo;
struct MemoryUse;

/// What identifies a piece of hardware. Interned: equal identities are the same object, for ever.
struct DeviceIdentity {
  BackendKind kind = BackendKind::kCpu;
  int index = 0;
  std::string endpoint = {};  // remote: "host:port" or "unix:/path"; empty: the default worker
  std::string inner = {};  // remote: the worker's device text, "cpu:0"; empty: its default device
  bool operator==(const DeviceIdentity&) const = default;
};

}  // namespace dispatch

class DeviceFilter;

/// Text forms, case ignored: `cpu`, `cpu:1`, `cuda` (= `cuda:0`), `vulkan:0`,
/// `remote://host:7070/cuda:0`, `remote://[::1]:7070/cpu`, `remote+unix:///run/remora.sock/cpu`
/// (the last path segment is the device if it parses as one), `remote://host:7070` (that worker's
/// default device), `remote` and `remote/cpu` (on the worker that REMORA_WORKERS names first),
/// `capture:3`.
class Device {
 public:
  /// Throws INVALID_ARGUMENT on a negative index.
  static Device cpu(int index = 0);
  static Device cuda(int index = 0);
  static Device vulkan(int index = 0);
  /// `address` is "host:port" or "unix:/path"; `inner` is the worker's device text, "" its default.
  static Device remote(std::string_view address, std::string_view inner = "");
  /// A new capture device, which records the ops on its tensors and runs none (client/capture).
  /// Indices rise and are never given twice, nor is one given that a text form named before.
  /// RESOURCE_EXHAUSTED after 65536 of them: a device is kept for ever, and takes any number of
  /// scopes one after another.
  static Device capture();
  /// A text form. Throws INVALID_ARGUMENT saying what is allowed.
  static Device parse(std::string_view text);
  /// REMORA_DEVICE, else the first kind of backends.def with a usable device.
  static Device default_device();
  /// The device of an identity, without autodiff. Throws INVALID_ARGUMENT for one that no text form
  /// gives.
  static Device of(const dispatch::DeviceIdentity& identity);
  /// Every usable device that the filters name (dispatch/device_filter.h), filter by filter; one
  /// that two filters name appears twice. A kind that is not built in, a worker that does not
  /// answer and what cannot be used give none: `remora doctor` says why. Connects to the workers
  /// named.
  static std::vector<Device> enumerate(const std::vector<DeviceFilter>& filters);

  /// The text form; parses back to an equal device. The autodiff flag is not part of it.
  std::string str() const;
  BackendKind kind() const { return identity_->kind; }
  int index() const { return identity_->index; }
  bool is_remote() const { return kind() == BackendKind::kRemote; }

  /// The same hardware with gradients tracked; checkpointing stays as it was, else Disabled.
  /// Idempotent. Throws FAILED_PRECONDITION on a capture device.
  Device autodiff() const;
  /// Selects Balanced checkpointing: what backward needs and can be had again for little work is
  /// not kept but recomputed there, with the same bits. Throws FAILED_PRECONDITION without
  /// autodiff.
  Device gradient_checkpointing() const;
  /// Removes autodiff and checkpointing. Idempotent.
  Device without_autodiff() const;
  bool has_autodiff() const { return autodiff_; }
  Checkpointing checkpointing() const { return checkpointing_; }

  /// Hardware identity: autodiff and checkpointing do not count. Two texts that name one device of
  /// one worker are equal once both are opened.
  bool operator==(const Device& other) const {
    return identity_ == other.identity_ || (is_remote() && is_same_device(other));
  }

  const dispatch::DeviceIdentity& identity() const { return *identity_; }
  /// The opened device; opens it at the first call. Throws when it cannot: NOT_FOUND for a device
  /// that is not there, UNIMPLEMENTED for a backend not built in, UNAVAILABLE or UNAUTHENTICATED
  /// for a worker.
  dispatch::DeviceState& state() const;

  /// Ends this thread's window on the device and hands it over.
  void flush() const;
  /// `flush`, then waits until the device has executed everything handed over so far by any thread.
  /// Throws UNAVAILABLE when the device itself is gone.
  void synchronize() const;

  /// Name, numerics fingerprint and memory limit (dispatch/backend.h). Asks nobody: a worker said
  /// it when the device was opened.
  dispatch::DeviceInfo info() const;
  /// Bytes that tensors hold, bytes kept for reuse, and the limit. On a worker: what this program's
  /// tensors hold there, counted here, without asking.
  dispatch::MemoryUse memory() const;
  /// `memory().peak_bytes`, the most that tensors held at once, is counted from now on. Nothing on
  /// a worker.
  void reset_peak_memory() const;
  /// Gives the memory that is kept for reuse back to the system. Nothing on a worker, where all
  /// sessions share it.
  void trim() const;

 private:
  explicit Device(const dispatch::DeviceIdentity* identity) : identity_(identity) {}
  friend class dispatch::DeviceState;
  bool is_same_device(const Device& other) const;
  static Device intern(dispatch::DeviceIdentity identity, bool* is_new = nullptr);

  const dispatch::DeviceIdentity* identity_;
  bool autodiff_ = false;
  Checkpointing checkpointing_ = Checkpointing::kDisabled;
};

/// Text name of a kind: "cuda".
std::string_view backend_name(BackendKind kind);

}  // namespace remora
