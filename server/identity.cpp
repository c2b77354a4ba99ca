#include "server/identity.h"

#include <utility>

#include "dispatch/str_cat.h"

namespace remora::server {

Identity::Identity(std::string name, dispatch::MemoryOwner owner, const IdentityQuota& quota,
                   DeviceList devices)
    : name_(std::move(name)),
      owner_(owner),
      quota_(quota),
      devices_(std::move(devices)),
      account_(
          std::make_shared<dispatch::MemoryAccount>(str_cat("identity ", name_), quota_.bytes)),
      in_flight_(quota_.in_flight_bytes) {}

absl::Status Identity::check_in_flight(int64_t bytes) const {
  if (bytes <= quota_.in_flight_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(str_cat("identity ", name_, ": ", bytes,
                                              " bytes on their way to a device; at most ",
                                              quota_.in_flight_bytes, " are allowed"));
}

}  // namespace remora::server
