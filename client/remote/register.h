// Makes workers' devices available to a program. Called once, before the first use of the registry.
#pragma once

#include "dispatch/registry.h"

namespace remora::remote {

/// Adds the remote kind: `remote://host:port/device`, and `remote` for the first worker of
/// REMORA_WORKERS. It may be the default device only when that worker answers.
void register_remote_backend(dispatch::Registry& registry);

}  // namespace remora::remote
