#include "dispatch/build_info.h"

#include "dispatch/str_cat.h"
#include "remora_build_info.h"

namespace remora::dispatch {

std::string_view build_version() { return build_info::kVersion; }

std::string_view build_fingerprint() {
  static const std::string text =
      str_cat("remora ", build_info::kVersion, " ", build_info::kCommit, ", ",
              build_info::kCompiler, ", ", build_info::kNumericFlags);
  return text;
}

}  // namespace remora::dispatch
