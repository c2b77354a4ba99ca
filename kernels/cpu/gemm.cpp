#include "kernels/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <cstdlib>

// Of an OpenBLAS that chooses its kernels at run time, and of one that has threads; other builds of
// it lack them.
extern "C" {
[[gnu::weak]] int blas_thread_shutdown_();
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace remora::cpu {
namespace {

/// OPENBLAS_CORETYPE of the best kernels for this processor; nullptr for one without AVX2.
const char* core_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return "Haswell";
  return __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX";
#else
  return nullptr;
#endif
}

/// An OpenBLAS that is older than the processor does not know its name and runs the kernels of the
/// oldest one it has, at a fifth of the speed; it is told a family with the same instructions.
void choose_blas_kernels() {
  constexpr std::array<std::string_view, 5> kWithAvx2 = {"Haswell", "Zen", "SkylakeX", "Cooperlake",
                                                         "Sapphirerapids"};
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  const char* const core = core_of_processor();
  if (core == nullptr || std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  const std::string_view chosen = openblas_get_corename();
  if (std::find(kWithAvx2.begin(), kWithAvx2.end(), chosen) != kWithAvx2.end()) return;
  if (::setenv("OPENBLAS_CORETYPE", core, 1) != 0) return;
  // Its threads, started when it was loaded, may still be on their way to their first wait and look
  // at the table that is exchanged here. Nobody needs them.
  if (blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv("OPENBLAS_CORETYPE");
}

struct BlasOperand {
  CBLAS_TRANSPOSE transposed;
  blasint leading;
};

/// Row-major unless only the transpose is; a leading dimension is at least 1 and at least the row.
template <typename T>
BlasOperand blas_operand(const Matrix<T>& matrix, int64_t rows, int64_t columns) {
  if (columns == 1 || matrix.column_stride == 1) {
    return {CblasNoTrans, static_cast<blasint>(std::max({matrix.row_stride, columns, int64_t{1}}))};
  }
  return {CblasTrans, static_cast<blasint>(std::max({matrix.column_stride, rows, int64_t{1}}))};
}

/// `multiply` is cblas_sgemm or cblas_dgemm.
template <typename T, typename Multiply>
void multiply_with(Multiply multiply, int64_t m, int64_t n, int64_t k, const Matrix<T>& a,
                   const Matrix<T>& b, bool accumulate, T* c, int64_t c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (accumulate) return;
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T{0});
    return;
  }
  const BlasOperand left = blas_operand(a, m, k);
  const BlasOperand right = blas_operand(b, k, n);
  multiply(CblasRowMajor, left.transposed, right.transposed, static_cast<blasint>(m),
           static_cast<blasint>(n), static_cast<blasint>(k), T{1}, a.data, left.leading, b.data,
           right.leading, accumulate ? T{1} : T{0}, c, static_cast<blasint>(c_stride));
}

}  // namespace

void initialise_blas() {
  static const bool once = [] {
    choose_blas_kernels();
    openblas_set_num_threads(1);
    return true;
  }();
  (void)once;
}

std::string blas_description() {
  return std::string(openblas_get_corename()) + ", " + openblas_get_config();
}

bool is_blas_layout(int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns) {
  const bool row_major =
      (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns);
  const bool column_major =
      (rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows);
  return row_major || column_major;
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix<float>& a, const Matrix<float>& b,
          bool accumulate, float* c, int64_t c_stride) {
  multiply_with(cblas_sgemm, m, n, k, a, b, accumulate, c, c_stride);
}

void gemm(int64_t m, int64_t n, int64_t k, const Matrix<double>& a, const Matrix<double>& b,
          bool accumulate, double* c, int64_t c_stride) {
  multiply_with(cblas_dgemm, m, n, k, a, b, accumulate, c, c_stride);
}

}  // namespace remora::cpu
