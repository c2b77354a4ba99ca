#include "dispatch/backend.h"

namespace remora::dispatch {

absl::StatusOr<Buffer> Backend::copy_from(Backend& /*source*/, const Buffer& /*buffer*/,
                                          ValueId /*id*/) {
  return absl::UnimplementedError("no direct copy between these devices");
}

void Backend::download_all(std::span<const Buffer> buffers, std::vector<ReadCallback> done) {
  for (size_t i = 0; i < buffers.size(); ++i) download(buffers[i], std::move(done[i]));
}

}  // namespace remora::dispatch
