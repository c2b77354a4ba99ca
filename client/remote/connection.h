// What a program says about its workers beside computing on their devices: how they are reached
// (`set_remote_options`), who hears of operations that failed there (`set_error_callback`), and
// when a session ends (`disconnect`). Thread-safe.
#pragma once

#include <string_view>

#include "client/remote/op_error.h"
#include "client/remote/options.h"

namespace remora::remote {

/// Ends the session with a worker ("host:port", case ignored, or "unix:/path"): its tensors there
/// are freed and those this program still holds answer UNAVAILABLE. The next use of one of its
/// devices opens a new session. Waits for the worker, so it may not be called from a callback.
void disconnect(std::string_view address);

}  // namespace remora::remote

namespace remora {

using remote::RemoteOptions;
using remote::set_remote_options;

}  // namespace remora
