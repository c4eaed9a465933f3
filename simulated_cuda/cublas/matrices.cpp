// SPDX-License-Identifier: Apache-2.0
// Triangular systems, sums of matrices, and copies of vectors and matrices between host and device.
#include "simulated_cuda/cublas/blas.h"

#include <algorithm>
#include <string>

namespace gmt::blas {
namespace {

struct System {
  Side side;
  Fill fill;
  Operation operation;
  Diagonal diagonal;
  int rows, columns; // of B
};

// Of X op(A) = alpha B the transpose is solved, op(A)' X' = alpha B'.
template <class T>
Status run_trsm(Handle* handle, const System& s, const T* alpha, const void* a, int lda, void* b,
                int ldb, int batch, bool has_lists) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr) return Status::kInvalidValue;
  const bool is_left = s.side == Side::kLeft;
  const int order = is_left ? s.rows : s.columns;
  if (s.rows < 0 || s.columns < 0 || batch < 0 || lda < std::max(1, order) ||
      ldb < std::max(1, s.rows))
    return Status::kInvalidValue;
  const bool is_transposed = (s.operation != Operation::kNone) == is_left;
  Trsm t;
  t.rows = order;
  t.columns = is_left ? s.columns : s.rows;
  t.alpha = scalar_at(*handle, alpha);
  t.a = matrix(a, lda, is_transposed ? Operation::kTranspose : Operation::kNone);
  t.b = matrix(b, ldb, is_left ? Operation::kNone : Operation::kTranspose);
  if (has_lists) {
    t.a.list = t.a.base;
    t.b.list = t.b.base;
  }
  t.is_lower = (s.fill == Fill::kLower) != is_transposed ? 1 : 0;
  t.has_unit_diagonal = s.diagonal == Diagonal::kUnit ? 1 : 0;
  if (t.rows == 0 || t.columns == 0 || batch == 0) return Status::kSuccess;
  const auto blocks = static_cast<unsigned>((t.columns + 31) / 32);
  return launch(*handle, std::string("cublas_trsm_") + TypeName<T>::value, blocks,
                static_cast<unsigned>(batch), 1, 32, 1, &t);
}

template <class T>
Status run_geam(Handle* handle, Operation ta, Operation tb, int rows, int columns, const T* alpha,
                const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (alpha == nullptr || beta == nullptr) return Status::kInvalidValue;
  if (rows < 0 || columns < 0 || ldc < std::max(1, rows)) return Status::kInvalidValue;
  if (rows == 0 || columns == 0) return Status::kSuccess;
  Gemm gemm;
  gemm.rows = rows;
  gemm.columns = columns;
  gemm.alpha = scalar_at(*handle, alpha);
  gemm.beta = scalar_at(*handle, beta);
  gemm.a = matrix(a, lda, ta);
  gemm.b = matrix(b, ldb, tb);
  gemm.c = matrix(c, ldc);
  return launch(*handle, std::string("cublas_geam_") + TypeName<T>::value,
                static_cast<unsigned>(rows + 31) / 32, static_cast<unsigned>(columns + 7) / 8, 1,
                32, 8, &gemm);
}

// Rows of `width` bytes; the stream is null where the call waits.
struct Copy {
  std::size_t width, height;
  const void* from;
  std::size_t from_pitch;
  void* to;
  std::size_t to_pitch;
  bool is_to_device;
};

Status run_copy(const Copy& c, const CUstream* stream) {
  if (c.width == 0 || c.height == 0) return Status::kSuccess;
  if (!has_context()) return Status::kNotInitialized;
  CUDA_MEMCPY2D copy{};
  copy.WidthInBytes = c.width;
  copy.Height = c.height;
  copy.srcPitch = c.from_pitch;
  copy.dstPitch = c.to_pitch;
  copy.srcMemoryType = c.is_to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = c.is_to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.srcHost = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? c.from : nullptr;
  copy.srcDevice = c.is_to_device ? 0 : address_of(c.from);
  copy.dstHost = c.is_to_device ? nullptr : c.to;
  copy.dstDevice = c.is_to_device ? address_of(c.to) : 0;
  const CUresult result = stream != nullptr ? cuMemcpy2DAsync(&copy, *stream) : cuMemcpy2D(&copy);
  return result == CUDA_SUCCESS ? Status::kSuccess : Status::kMappingError;
}

Status copy_vector(int count, int bytes, const void* x, int x_step, void* y, int y_step,
                   bool is_to_device, const CUstream* stream) {
  if (count < 0 || bytes <= 0 || x_step <= 0 || y_step <= 0) return Status::kInvalidValue;
  const auto size = static_cast<std::size_t>(bytes), number = static_cast<std::size_t>(count);
  if (x_step == 1 && y_step == 1)
    return run_copy({size * number, 1, x, size * number, y, size * number, is_to_device}, stream);
  return run_copy({size, number, x, size * static_cast<std::size_t>(x_step), y,
                   size * static_cast<std::size_t>(y_step), is_to_device},
                  stream);
}

Status copy_matrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb,
                   bool is_to_device, const CUstream* stream) {
  if (rows < 0 || columns < 0 || bytes <= 0 || lda < std::max(1, rows) || ldb < std::max(1, rows))
    return Status::kInvalidValue;
  const auto size = static_cast<std::size_t>(bytes);
  return run_copy({size * static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), a,
                   size * static_cast<std::size_t>(lda), b, size * static_cast<std::size_t>(ldb),
                   is_to_device},
                  stream);
}

} // namespace
} // namespace gmt::blas

using namespace gmt::blas;

#define GMT_MATRICES(S, T)                                                                         \
  extern "C" Status cublas##S##trsm_v2(Handle* handle, Side side, Fill fill, Operation operation,  \
                                       Diagonal diagonal, int m, int n, const T* alpha,            \
                                       const void* a, int lda, void* b, int ldb) {                 \
    return run_trsm(handle, {side, fill, operation, diagonal, m, n}, alpha, a, lda, b, ldb, 1,     \
                    false);                                                                        \
  }                                                                                                \
  extern "C" Status cublas##S##trsmBatched(                                                        \
    Handle* handle, Side side, Fill fill, Operation operation, Diagonal diagonal, int m, int n,    \
    const T* alpha, const void* a, int lda, void* b, int ldb, int batch) {                         \
    return run_trsm(handle, {side, fill, operation, diagonal, m, n}, alpha, a, lda, b, ldb, batch, \
                    true);                                                                         \
  }                                                                                                \
  extern "C" Status cublas##S##geam(Handle* handle, Operation ta, Operation tb, int m, int n,      \
                                    const T* alpha, const T* a, int lda, const T* beta,            \
                                    const T* b, int ldb, T* c, int ldc) {                          \
    return run_geam(handle, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                    \
  }
GMT_MATRICES(S, float)
GMT_MATRICES(D, double)

extern "C" Status cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy) {
  return copy_vector(n, size, x, incx, y, incy, true, nullptr);
}
extern "C" Status cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy) {
  return copy_vector(n, size, x, incx, y, incy, false, nullptr);
}
extern "C" Status cublasSetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy,
                                       CUstream stream) {
  return copy_vector(n, size, x, incx, y, incy, true, &stream);
}
extern "C" Status cublasGetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy,
                                       CUstream stream) {
  return copy_vector(n, size, x, incx, y, incy, false, &stream);
}
extern "C" Status cublasSetMatrix(int m, int n, int size, const void* a, int lda, void* b,
                                  int ldb) {
  return copy_matrix(m, n, size, a, lda, b, ldb, true, nullptr);
}
extern "C" Status cublasGetMatrix(int m, int n, int size, const void* a, int lda, void* b,
                                  int ldb) {
  return copy_matrix(m, n, size, a, lda, b, ldb, false, nullptr);
}
extern "C" Status cublasSetMatrixAsync(int m, int n, int size, const void* a, int lda, void* b,
                                       int ldb, CUstream stream) {
  return copy_matrix(m, n, size, a, lda, b, ldb, true, &stream);
}
extern "C" Status cublasGetMatrixAsync(int m, int n, int size, const void* a, int lda, void* b,
                                       int ldb, CUstream stream) {
  return copy_matrix(m, n, size, a, lda, b, ldb, false, &stream);
}
