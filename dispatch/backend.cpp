#include "dispatch/backend.h"

namespace remora::dispatch {

absl::StatusOr<Buffer> Backend::copy_from(Backend& /*source*/, const Buffer& /*buffer*/,
                                          ValueId /*id*/) {
  return absl::UnimplementedError("no direct copy between these devices");
}

}  // namespace remora::dispatch
