// The LAPACK routines that kernels call, one name for both element types: column-major matrices
// without gaps, sizes below 2^31, workspace from the caller. They run on their caller's thread.
#pragma once

#include <cstdint>

namespace remora::cpu {

/// The widest block that LAPACK's blocked algorithms ask for.
inline constexpr int64_t kLapackBlock = 64;
/// Elements of workspace that `lapack_gesdd` takes.
int64_t svd_workspace(int64_t rows, int64_t columns);

#define REMORA_LAPACK(T)                                                             \
  int lapack_potrf(int64_t n, T* a);                                                 \
  int lapack_getrf(int64_t n, T* a, int* pivots);                                    \
  void lapack_getrs(int64_t n, int64_t sides, const T* a, const int* pivots, T* b);  \
  void lapack_geqrf(int64_t m, int64_t n, T* a, T* tau, T* work);                    \
  void lapack_orgqr(int64_t m, int64_t n, int64_t k, T* a, const T* tau, T* work);   \
  int lapack_syev(int64_t n, T* a, T* values, T* work);                              \
  int lapack_gesdd(bool full, int64_t m, int64_t n, T* a, T* values, T* u, T* vt,    \
                   int64_t vt_leading, T* work, int* integers);                      \
  /** Of column-major a into row-major b. */                                         \
  void blas_trsm(bool upper, bool unit, int64_t n, int64_t sides, const T* a, T* b); \
  /** c = a b, all column-major: [m, k] x [k, n]. */                                 \
  void blas_product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c);
REMORA_LAPACK(float)
REMORA_LAPACK(double)
#undef REMORA_LAPACK

}  // namespace remora::cpu
