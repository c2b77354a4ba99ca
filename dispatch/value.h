// A Value is one result of one operation: an id and a Spec from the moment it is recorded, storage
// or an error once it has been executed. Handles are counted references; a value never changes once
// it is ready.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "dispatch/buffer.h"
#include "dispatch/memory_account.h"

namespace remora::dispatch {

class DeviceState;
class Window;

/// (window number, output index in recording order). Window numbers rise within a process, from 1.
class ValueId {
 public:
  ValueId() = default;
  ValueId(uint64_t window, uint32_t index) : bits_((window << 16) | index) {}
  static ValueId from_bits(uint64_t bits) {
    ValueId id;
    id.bits_ = bits;
    return id;
  }
  uint64_t window() const { return bits_ >> 16; }
  uint32_t index() const { return static_cast<uint32_t>(bits_ & 0xffff); }
  uint64_t bits() const { return bits_; }
  auto operator<=>(const ValueId&) const = default;

 private:
  uint64_t bits_ = 0;
};

/// The next window number of this process; also gives ids to values that no window makes (host
/// data).
uint64_t next_window_number();

/// The counted node behind Value.
class ValueNode {
 public:
  ValueNode(ValueId id, Spec spec, DeviceState* device)
      : id_(id), spec_(std::move(spec)), device_(device) {}
  ~ValueNode();
  ValueNode(const ValueNode&) = delete;
  ValueNode& operator=(const ValueNode&) = delete;

  ValueId id() const { return id_; }
  const Spec& spec() const { return spec_; }
  DeviceState& device() const { return *device_; }

  /// True once `fulfil` or `poison` was called; what they stored may then be read by any thread.
  bool settled() const { return state_.load(std::memory_order_acquire) != State::kPending; }
  bool poisoned() const { return state_.load(std::memory_order_acquire) == State::kPoisoned; }
  /// The storage. Requires settled() and not poisoned().
  const Buffer& buffer() const { return buffer_; }
  /// Why there is no storage. Requires poisoned().
  const absl::Status& error() const { return error_; }

  /// Called once, by whoever computes the value: the device's executor, or an upload or transfer,
  /// which then calls `device().executor().wake()`, since a window may be parked on it. `charge` is
  /// what the value costs its owner's account until it dies.
  void fulfil(Buffer buffer, MemoryCharge charge = {});
  void poison(absl::Status error);

 private:
  friend class Value;
  friend class Window;
  friend class Recorder;
  enum class State : uint8_t { kPending, kReady, kPoisoned };

  const ValueId id_;
  const Spec spec_;
  DeviceState* const device_;
  std::atomic<uint32_t> references_{0};
  std::atomic<State> state_{State::kPending};
  // While the value is an output of an open window: that window and the output's index. Guarded by
  // the device's record mutex.
  Window* window_ = nullptr;
  uint32_t window_index_ = 0;
  Buffer buffer_;
  absl::Status error_;
  MemoryCharge charge_;
};

/// A counted handle to a ValueNode; may be empty. Copies and drops are thread-safe.
class Value {
 public:
  Value() = default;
  static Value make(ValueId id, Spec spec, DeviceState* device) {
    return Value(new ValueNode(id, std::move(spec), device));  // owned by the reference count
  }
  Value(const Value& other) : node_(other.node_) { acquire(); }
  Value(Value&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Value() { release(); }

  explicit operator bool() const { return node_ != nullptr; }
  ValueNode* operator->() const { return node_; }
  ValueNode& operator*() const { return *node_; }
  ValueNode* get() const { return node_; }
  void reset() { *this = Value(); }
  /// True if this is the only handle: nobody else can use the value any more.
  bool unique() const { return node_->references_.load(std::memory_order_acquire) == 1; }
  bool operator==(const Value&) const = default;

 private:
  explicit Value(ValueNode* node) : node_(node) { acquire(); }
  void acquire() const {
    if (node_ != nullptr) node_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const {
    if (node_ != nullptr && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete node_;
  }

  ValueNode* node_ = nullptr;
};

}  // namespace remora::dispatch
