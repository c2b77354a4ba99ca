// Who is behind sessions, and what all sessions of one identity may hold together. An identity
// lives for as long as it has sessions; one that comes back is a new owner of memory. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dispatch/memory_account.h"
#include "dispatch/memory_owner.h"
#include "server/flow_room.h"
#include "server/served_devices.h"

namespace remora::server {

/// The limits of one identity, with every default filled in.
struct IdentityQuota {
  int64_t bytes = 0;            // tensors of all its sessions
  int64_t in_flight_bytes = 0;  // host bytes on their way to devices, of all its sessions
  int64_t sessions = 0;
};

class Identity {
 public:
  Identity(std::string name, dispatch::MemoryOwner owner, const IdentityQuota& quota,
           DeviceList devices);
  Identity(const Identity&) = delete;

  const std::string& name() const { return name_; }
  dispatch::MemoryOwner owner() const { return owner_; }
  const IdentityQuota& quota() const { return quota_; }
  /// The devices it may use; a device's place is its number on the wire.
  const DeviceList& devices() const { return devices_; }
  const std::shared_ptr<dispatch::MemoryAccount>& account() const { return account_; }

  /// RESOURCE_EXHAUSTED for a tensor that could never be on its way.
  absl::Status check_in_flight(int64_t bytes) const;
  /// Host bytes of its sessions that are on their way to devices. What a task counts for beside its
  /// tensor may exceed the limit.
  FlowRoom& in_flight() { return in_flight_; }

 private:
  const std::string name_;
  const dispatch::MemoryOwner owner_;
  const IdentityQuota quota_;
  const DeviceList devices_;
  const std::shared_ptr<dispatch::MemoryAccount> account_;
  FlowRoom in_flight_;
};

}  // namespace remora::server
