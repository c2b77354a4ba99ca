// Finds out why an encrypted connection to a worker fails. gRPC says only that a handshake failed;
// this makes one of its own and says whose certificate was refused and why. Thread-safe.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "client/remote/options.h"

namespace remora::remote {

/// OK where encryption is not what fails. UNAUTHENTICATED names the worker, the option and the
/// reason: a certificate of another authority, one that has expired or is of another host, or a
/// certificate of this program that the worker asks for. FAILED_PRECONDITION where one side speaks
/// TLS and the other does not. Each wait for the worker ends at the options' connect deadline; how
/// long a name is looked up is the system's resolver's choice.
absl::Status probe_tls(std::string_view address, const RemoteOptions& options,
                       const std::optional<Tls>& tls);

}  // namespace remora::remote
