// What this build is: the same strings in every binary of one build. Constant.
#pragma once

#include <string_view>

namespace remora::dispatch {

/// "0.1.0".
std::string_view build_version();
/// Version, commit, compiler and numeric flags: the build's part of a device's fingerprint.
std::string_view build_fingerprint();

}  // namespace remora::dispatch
