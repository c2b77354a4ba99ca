#include <cstdlib>
#include <utility>
#include <vector>

#include "dispatch/str_cat.h"
#include "kernels/cpu/host_machine.h"
#include "kernels/cpu/kernel_table.h"

namespace remora::cpu {

// Defined by the objects of each level.
#define SIMD_LEVEL(level, ...) const KernelTable& kernels_##level();
#include "kernels/cpu/simd_levels.def"
#undef SIMD_LEVEL

namespace {

using Instructions = std::vector<std::pair<std::string_view, bool>>;

struct Candidate {
  SimdLevel level;
  Instructions needed;
  /// The first instruction set this processor lacks; empty if it has all.
  std::string_view missing() const {
    for (const auto& [name, present] : needed) {
      if (!present) return name;
    }
    return "";
  }
};

/// Best first.
std::vector<Candidate> candidates() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define HAS(name, feature) \
  { name, __builtin_cpu_supports(feature) != 0 }
  const Instructions avx2 = {HAS("AVX2", "avx2"), HAS("FMA", "fma"), HAS("BMI", "bmi"),
                             HAS("BMI2", "bmi2")};
  Instructions avx512 = avx2;
  avx512.insert(avx512.end(), {HAS("AVX512F", "avx512f"), HAS("AVX512BW", "avx512bw"),
                               HAS("AVX512CD", "avx512cd"), HAS("AVX512DQ", "avx512dq"),
                               HAS("AVX512VL", "avx512vl")});
#undef HAS
#else
  const Instructions native;
#endif
  return {
#define SIMD_LEVEL(level, label) {{#level, label, kernels_##level}, level},
#include "kernels/cpu/simd_levels.def"
#undef SIMD_LEVEL
  };
}

}  // namespace

absl::StatusOr<SimdLevel> choose_simd(std::string_view wanted) {
  const char* variable = std::getenv("REMORA_SIMD");
  const std::string_view name = wanted.empty() && variable != nullptr ? variable : wanted;
  const std::vector<Candidate> all = candidates();
  std::string names;
  for (const Candidate& candidate : all) {
    const std::string_view missing = candidate.missing();
    names += str_cat(names.empty() ? "" : ", ", candidate.level.name);
    if (name.empty() ? missing.empty() : name == candidate.level.name) {
      if (missing.empty()) return candidate.level;
      return absl::FailedPreconditionError(
          str_cat("cpu: this processor (", processor_name(), ") has no ", missing,
                  ", which the SIMD level '", name, "' needs; unset REMORA_SIMD to take the best"));
    }
  }
  if (!name.empty()) {
    return absl::InvalidArgumentError(str_cat("cpu: there is no SIMD level '", name,
                                              "'; REMORA_SIMD may be ", names,
                                              ", or unset to take the best"));
  }
  return absl::FailedPreconditionError(
      str_cat("cpu: this processor (", processor_name(), ") has no ", all.back().missing(),
              "; the cpu backend needs AVX2, FMA, BMI and BMI2 (x86-64-v3)"));
}

}  // namespace remora::cpu
