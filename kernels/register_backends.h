// The backends of this folder that were built in. Each is added by an explicit call; there are no
// static initialisers.
#pragma once

#include "dispatch/registry.h"

namespace remora {

/// Adds every local kind of backend that this build has. Called once per registry, before its first
/// use.
void register_local_backends(dispatch::Registry& registry);

}  // namespace remora
