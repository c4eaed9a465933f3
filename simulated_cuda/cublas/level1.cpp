// SPDX-License-Identifier: Apache-2.0
// Vectors: sums, copies, and numbers of them.
#include "simulated_cuda/cublas/blas.h"

#include <mutex>
#include <string>

namespace gmt::blas {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
Status run_vectors(Handle* handle, int count, Vectors::What what, const T* alpha, const T* beta,
                   const void* x, int x_step, const void* y, int y_step) {
  if (handle == nullptr) return Status::kNotInitialized;
  const bool needs_alpha = what != Vectors::kCopy && what != Vectors::kSwap;
  if (needs_alpha && (alpha == nullptr || (what == Vectors::kRotate && beta == nullptr)))
    return Status::kInvalidValue;
  if (count <= 0) return Status::kSuccess;
  Vectors v;
  v.count = count;
  v.what = what;
  if (alpha != nullptr) v.alpha = scalar_at(*handle, alpha);
  if (beta != nullptr) v.beta = scalar_at(*handle, beta);
  v.x = vector(x, count, x_step);
  v.y = vector(y, count, y_step);
  const auto blocks = (static_cast<unsigned>(count) + kThreads - 1) / kThreads;
  return launch(*handle, std::string("cublas_vectors_") + TypeName<T>::value, blocks, 1, 1,
                kThreads, 1, &v);
}

// Where the caller waits for the number it is there when the call returns.
template <class T, class Result>
Status run_reduce(Handle* handle, int count, Reduce::What what, const T* x, int x_step, const T* y,
                  int y_step, Result* result) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (result == nullptr) return Status::kInvalidValue;
  const bool waits = handle->pointer_mode == PointerMode::kHost;
  std::unique_lock lock(handle->result_mutex, std::defer_lock);
  if (waits) lock.lock(); // its number lies in the handle's memory until it is read
  Reduce r;
  // Steps of no or of a negative length name no element in BLAS, but for dot
  r.count = count > 0 && (what == Reduce::kDot || x_step > 0) ? count : 0;
  r.what = what;
  r.x = vector(x, r.count, x_step);
  r.y = vector(y, r.count, y_step);
  r.result = waits ? handle->result_on_device : address_of(result);
  const Status status =
    launch(*handle, std::string("cublas_reduce_") + TypeName<T>::value, 1, 1, 1, kThreads, 1, &r);
  if (status != Status::kSuccess || !waits) return status;
  if (cuStreamSynchronize(handle->stream) != CUDA_SUCCESS) return Status::kExecutionFailed;
  __builtin_memcpy(result, handle->result, sizeof *result);
  return Status::kSuccess;
}

} // namespace
} // namespace gmt::blas

using namespace gmt::blas;

#define GMT_LEVEL1(S, L, T)                                                                        \
  extern "C" Status cublas##S##axpy_v2(Handle* handle, int n, const T* alpha, const T* x,          \
                                       int incx, T* y, int incy) {                                 \
    return run_vectors<T>(handle, n, Vectors::kAxpy, alpha, nullptr, x, incx, y, incy);            \
  }                                                                                                \
  extern "C" Status cublas##S##scal_v2(Handle* handle, int n, const T* alpha, T* x, int incx) {    \
    return run_vectors<T>(handle, incx > 0 ? n : 0, Vectors::kScale, alpha, nullptr, x, incx,      \
                          nullptr, 1);                                                             \
  }                                                                                                \
  extern "C" Status cublas##S##copy_v2(Handle* handle, int n, const T* x, int incx, T* y,          \
                                       int incy) {                                                 \
    return run_vectors<T>(handle, n, Vectors::kCopy, nullptr, nullptr, x, incx, y, incy);          \
  }                                                                                                \
  extern "C" Status cublas##S##swap_v2(Handle* handle, int n, T* x, int incx, T* y, int incy) {    \
    return run_vectors<T>(handle, n, Vectors::kSwap, nullptr, nullptr, x, incx, y, incy);          \
  }                                                                                                \
  extern "C" Status cublas##S##rot_v2(Handle* handle, int n, T* x, int incx, T* y, int incy,       \
                                      const T* c, const T* s) {                                    \
    return run_vectors<T>(handle, n, Vectors::kRotate, c, s, x, incx, y, incy);                    \
  }                                                                                                \
  extern "C" Status cublas##S##dot_v2(Handle* handle, int n, const T* x, int incx, const T* y,     \
                                      int incy, T* result) {                                       \
    return run_reduce(handle, n, Reduce::kDot, x, incx, y, incy, result);                          \
  }                                                                                                \
  extern "C" Status cublas##S##nrm2_v2(Handle* handle, int n, const T* x, int incx, T* result) {   \
    return run_reduce<T>(handle, n, Reduce::kSquares, x, incx, nullptr, 1, result);                \
  }                                                                                                \
  extern "C" Status cublas##S##asum_v2(Handle* handle, int n, const T* x, int incx, T* result) {   \
    return run_reduce<T>(handle, n, Reduce::kAbsolutes, x, incx, nullptr, 1, result);              \
  }                                                                                                \
  extern "C" Status cublasI##L##amax_v2(Handle* handle, int n, const T* x, int incx,               \
                                        int* result) {                                             \
    return run_reduce<T>(handle, n, Reduce::kLargest, x, incx, nullptr, 1, result);                \
  }                                                                                                \
  extern "C" Status cublasI##L##amin_v2(Handle* handle, int n, const T* x, int incx,               \
                                        int* result) {                                             \
    return run_reduce<T>(handle, n, Reduce::kSmallest, x, incx, nullptr, 1, result);               \
  }
GMT_LEVEL1(S, s, float)
GMT_LEVEL1(D, d, double)
