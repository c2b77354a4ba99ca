#include "kernels/cpu/lapack_calls.h"

#include <cblas.h>

#include <algorithm>
#include <cstddef>

// LAPACK's Fortran routines; each character argument has a length at the end.
extern "C" {
#define REMORA_LAPACK(p, T)                                                                        \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t);         \
  void p##getrf_(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);        \
  void p##getrs_(const char* trans, const int* n, const int* sides, const T* a, const int* lda,    \
                 const int* pivots, T* b, const int* ldb, int* info, size_t);                      \
  void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work,                \
                 const int* lwork, int* info);                                                     \
  void p##orgqr_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,     \
                 T* work, const int* lwork, int* info);                                            \
  void p##syev_(const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* values, \
                T* work, const int* lwork, int* info, size_t, size_t);                             \
  void p##gesdd_(const char* jobz, const int* m, const int* n, T* a, const int* lda, T* values,    \
                 T* u, const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork,          \
                 int* integers, int* info, size_t);
REMORA_LAPACK(s, float)
REMORA_LAPACK(d, double)
#undef REMORA_LAPACK
}

namespace remora::cpu {
namespace {

int narrow(int64_t value) { return static_cast<int>(value); }
/// A leading dimension is at least 1.
int leading(int64_t value) { return static_cast<int>(std::max<int64_t>(1, value)); }

}  // namespace

int64_t svd_workspace(int64_t rows, int64_t columns) {
  // The largest of LAPACK's stated minima, and room for blocks of the widest size.
  const int64_t small = std::max<int64_t>(1, std::min(rows, columns));
  const int64_t large = std::max<int64_t>({1, rows, columns});
  return 4 * small * small + 7 * small + large + kLapackBlock * (large + 3 * small);
}

#define REMORA_LAPACK(p, T)                                                                        \
  int lapack_potrf(int64_t n, T* a) {                                                              \
    const int size = narrow(n), lda = leading(n);                                                  \
    int info = 0;                                                                                  \
    p##potrf_("L", &size, a, &lda, &info, 1);                                                      \
    return info;                                                                                   \
  }                                                                                                \
  int lapack_getrf(int64_t n, T* a, int* pivots) {                                                 \
    const int size = narrow(n), lda = leading(n);                                                  \
    int info = 0;                                                                                  \
    p##getrf_(&size, &size, a, &lda, pivots, &info);                                               \
    return info;                                                                                   \
  }                                                                                                \
  void lapack_getrs(int64_t n, int64_t sides, const T* a, const int* pivots, T* b) {               \
    const int size = narrow(n), count = narrow(sides), lda = leading(n);                           \
    int info = 0;                                                                                  \
    p##getrs_("N", &size, &count, a, &lda, pivots, b, &lda, &info, 1);                             \
  }                                                                                                \
  void lapack_geqrf(int64_t m, int64_t n, T* a, T* tau, T* work) {                                 \
    const int rows = narrow(m), columns = narrow(n), lda = leading(m);                             \
    const int room = narrow(kLapackBlock * std::max<int64_t>({1, m, n}));                          \
    int info = 0;                                                                                  \
    p##geqrf_(&rows, &columns, a, &lda, tau, work, &room, &info);                                  \
  }                                                                                                \
  void lapack_orgqr(int64_t m, int64_t n, int64_t k, T* a, const T* tau, T* work) {                \
    const int rows = narrow(m), columns = narrow(n), count = narrow(k), lda = leading(m);          \
    const int room = narrow(kLapackBlock * std::max<int64_t>({1, m, n}));                          \
    int info = 0;                                                                                  \
    p##orgqr_(&rows, &columns, &count, a, &lda, tau, work, &room, &info);                          \
  }                                                                                                \
  int lapack_syev(int64_t n, T* a, T* values, T* work) {                                           \
    const int size = narrow(n), lda = leading(n);                                                  \
    const int room = narrow((kLapackBlock + 2) * std::max<int64_t>(1, n));                         \
    int info = 0;                                                                                  \
    p##syev_("V", "L", &size, a, &lda, values, work, &room, &info, 1, 1);                          \
    return info;                                                                                   \
  }                                                                                                \
  int lapack_gesdd(bool full, int64_t m, int64_t n, T* a, T* values, T* u, T* vt,                  \
                   int64_t vt_leading, T* work, int* integers) {                                   \
    const int rows = narrow(m), columns = narrow(n), lda = leading(m);                             \
    const int ldvt = leading(vt_leading), room = narrow(svd_workspace(m, n));                      \
    int info = 0;                                                                                  \
    p##gesdd_(full ? "A" : "S", &rows, &columns, a, &lda, values, u, &lda, vt, &ldvt, work, &room, \
              integers, &info, 1);                                                                 \
    return info;                                                                                   \
  }                                                                                                \
  void blas_trsm(bool upper, bool unit, int64_t n, int64_t sides, const T* a, T* b) {              \
    if (n == 0 || sides == 0) return;                                                              \
    /* Column-major a is row-major a^T: the other triangle, transposed. */                         \
    cblas_##p##trsm(CblasRowMajor, CblasLeft, upper ? CblasLower : CblasUpper, CblasTrans,         \
                    unit ? CblasUnit : CblasNonUnit, narrow(n), narrow(sides), T(1), a,            \
                    leading(n), b, leading(sides));                                                \
  }                                                                                                \
  void blas_product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {               \
    if (m == 0 || n == 0) return;                                                                  \
    if (k == 0) return void(std::fill_n(c, m * n, T(0)));                                          \
    cblas_##p##gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, narrow(m), narrow(n), narrow(k),    \
                    T(1), a, leading(m), b, leading(k), T(0), c, leading(m));                      \
  }
REMORA_LAPACK(s, float)
REMORA_LAPACK(d, double)
#undef REMORA_LAPACK

}  // namespace remora::cpu
