// SPDX-License-Identifier: Apache-2.0
// The kernels of the simulated cuBLAS. kernels.ptx is made of them, by
//   nvcc -O2 -std=c++17 -arch=compute_90 -I. -ptx -o kernels.ptx simulated_cuda/cublas/kernels.cu
// and is part of the library: who builds it needs no nvcc. They run on the executor, so that each
// access is checked, and are as simple as they can be: a thread for an element of a result, in one
// order.
//
// A matrix has a step from row to row and one from column to column, in elements: its transpose has
// them the other way round. A vector is a matrix of one column. Structures are those of
// kernel_arguments.h.
#include "simulated_cuda/cublas/kernel_arguments.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

using gmt::blas::Array;
using gmt::blas::Scalar;

template <class T> __device__ T* at(const Array& array, long long batch) {
  const auto* list = reinterpret_cast<T* const*>(array.list);
  T* base =
    list != nullptr ? list[batch] : reinterpret_cast<T*>(array.base) + batch * array.batch_step;
  return base + array.first;
}

template <class S> __device__ S value_of(const Scalar& scalar) {
  if (scalar.address != 0) return *reinterpret_cast<const S*>(scalar.address);
  S value;
  memcpy(&value, scalar.bytes, sizeof value);
  return value;
}

template <class S, class T> __device__ S wide(T value) { return static_cast<S>(value); }
template <> __device__ float wide(__half value) { return __half2float(value); }
template <> __device__ float wide(__nv_bfloat16 value) { return __bfloat162float(value); }
template <class T, class S> __device__ T narrow(S value) { return static_cast<T>(value); }
template <> __device__ __half narrow(float value) { return __float2half_rn(value); }
template <> __device__ __nv_bfloat16 narrow(float value) { return __float2bfloat16_rn(value); }

// C = alpha A B + beta C. S is what alpha, beta and sums are; halves of cublasHgemm are widened
// before.
template <class T, class C, class S> __device__ void gemm(const gmt::blas::Gemm& g) {
  const long long i = blockIdx.x * 32ll + threadIdx.x, j = blockIdx.y * 8ll + threadIdx.y,
                  batch = blockIdx.z;
  if (i >= g.rows || j >= g.columns) return;
  const S alpha = value_of<S>(g.alpha), beta = value_of<S>(g.beta);
  S sum = 0;
  if (alpha != S(0)) {
    const T* a = at<const T>(g.a, batch) + i * g.a.row_step;
    const T* b = at<const T>(g.b, batch) + j * g.b.column_step;
#pragma unroll 1 // one load of each matrix: a mistake is found once
    for (long long k = 0; k < g.inner; ++k)
      sum += wide<S>(a[k * g.a.column_step]) * wide<S>(b[k * g.b.row_step]);
  }
  C* c = at<C>(g.c, batch) + i * g.c.row_step + j * g.c.column_step;
  sum *= alpha;
  if (beta != S(0)) sum += beta * wide<S>(*c); // else what is there is not read
  *c = narrow<C>(sum);
}

// X of A X = alpha B, where B is: a thread for each column. A is lower triangular if its
// first row has one element. As in BLAS neither is read where alpha is zero.
template <class S> __device__ void trsm(const gmt::blas::Trsm& t) {
  const long long j = blockIdx.x * 32ll + threadIdx.x, batch = blockIdx.y;
  if (j >= t.columns) return;
  const S alpha = value_of<S>(t.alpha);
  const S* a = at<const S>(t.a, batch);
  S* x = at<S>(t.b, batch) + j * t.b.column_step;
  for (long long step = 0; step < t.rows; ++step) {
    const long long i = t.is_lower ? step : t.rows - 1 - step;
    if (alpha == S(0)) {
      x[i * t.b.row_step] = 0;
      continue;
    }
    S value = alpha * x[i * t.b.row_step];
#pragma unroll 1
    for (long long known = 0; known < step; ++known) {
      const long long k = t.is_lower ? known : t.rows - 1 - known;
      value -= a[i * t.a.row_step + k * t.a.column_step] * x[k * t.b.row_step];
    }
    if (!t.has_unit_diagonal) value /= a[i * (t.a.row_step + t.a.column_step)];
    x[i * t.b.row_step] = value;
  }
}

// C = alpha A + beta B, of matrices; A or B may be C.
template <class S> __device__ void geam(const gmt::blas::Gemm& g) {
  const long long i = blockIdx.x * 32ll + threadIdx.x, j = blockIdx.y * 8ll + threadIdx.y;
  if (i >= g.rows || j >= g.columns) return;
  const S alpha = value_of<S>(g.alpha), beta = value_of<S>(g.beta);
  S sum = 0;
  if (alpha != S(0)) sum += alpha * at<const S>(g.a, 0)[i * g.a.row_step + j * g.a.column_step];
  if (beta != S(0)) sum += beta * at<const S>(g.b, 0)[i * g.b.row_step + j * g.b.column_step];
  at<S>(g.c, 0)[i * g.c.row_step + j * g.c.column_step] = sum;
}

// Of vectors x and y.
template <class S> __device__ void vectors(const gmt::blas::Vectors& v) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= v.count) return;
  S* x = at<S>(v.x, 0) + i * v.x.row_step;
  S* y = at<S>(v.y, 0) + i * v.y.row_step;
  switch (v.what) {
  case gmt::blas::Vectors::kAxpy: {
    const S alpha = value_of<S>(v.alpha);
    if (alpha != S(0)) *y += alpha * *x; // else neither is used, as in BLAS
    break;
  }
  case gmt::blas::Vectors::kScale: *x *= value_of<S>(v.alpha); break;
  case gmt::blas::Vectors::kCopy: *y = *x; break;
  case gmt::blas::Vectors::kSwap: {
    const S kept = *x;
    *x = *y;
    *y = kept;
    break;
  }
  case gmt::blas::Vectors::kRotate: {
    const S c = value_of<S>(v.alpha), s = value_of<S>(v.beta), a = *x, b = *y;
    *x = c * a + s * b;
    *y = c * b - s * a;
    break;
  }
  }
}

// One number of a vector or two, by one block. Sums are of double precision.
template <class S> __device__ void reduce(const gmt::blas::Reduce& r) {
  using What = gmt::blas::Reduce;
  __shared__ double sums[256];
  __shared__ long long indices[256];
  const S* x = at<const S>(r.x, 0);
  const S* y = at<const S>(r.y, 0);
  const bool finds = r.what == What::kLargest || r.what == What::kSmallest;
  const auto is_better = [&](double a, long long i, double b, long long j) {
    if (i < 0 || j < 0) return j < 0 && i >= 0;
    if (a == b) return i < j;
    return r.what == What::kLargest ? a > b : a < b;
  };
  double sum = 0;
  long long index = -1;
#pragma unroll 1
  for (long long i = threadIdx.x; i < r.count; i += 256) {
    const double a = x[i * r.x.row_step];
    if (r.what == What::kDot) sum += a * y[i * r.y.row_step];
    if (r.what == What::kSquares) sum += a * a;
    if (r.what == What::kAbsolutes) sum += fabs(a);
    if (finds && is_better(fabs(a), i, sum, index)) {
      sum = fabs(a);
      index = i;
    }
  }
  sums[threadIdx.x] = sum;
  indices[threadIdx.x] = index;
#pragma unroll 1
  for (unsigned half = 128; half != 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const unsigned other = threadIdx.x + half;
    if (!finds) sums[threadIdx.x] += sums[other];
    else if (is_better(sums[other], indices[other], sums[threadIdx.x], indices[threadIdx.x])) {
      sums[threadIdx.x] = sums[other];
      indices[threadIdx.x] = indices[other];
    }
  }
  if (threadIdx.x != 0) return;
  if (finds) *reinterpret_cast<int*>(r.result) = static_cast<int>(indices[0] + 1);
  else
    *reinterpret_cast<S*>(r.result) =
      static_cast<S>(r.what == What::kSquares ? sqrt(sums[0]) : sums[0]);
}

} // namespace

#define GMT_GEMM(name, T, C, S)                                                                    \
  extern "C" __global__ void cublas_gemm_##name(gmt::blas::Gemm g) { gemm<T, C, S>(g); }
GMT_GEMM(f32, float, float, float)
GMT_GEMM(f64, double, double, double)
GMT_GEMM(f16, __half, __half, float)
GMT_GEMM(f16_f32, __half, float, float)
GMT_GEMM(bf16, __nv_bfloat16, __nv_bfloat16, float)
GMT_GEMM(bf16_f32, __nv_bfloat16, float, float)
GMT_GEMM(s8_s32, signed char, int, int)
GMT_GEMM(s8_f32, signed char, float, float)

#define GMT_TYPE(name, S)                                                                          \
  extern "C" __global__ void cublas_trsm_##name(gmt::blas::Trsm t) { trsm<S>(t); }                 \
  extern "C" __global__ void cublas_geam_##name(gmt::blas::Gemm g) { geam<S>(g); }                 \
  extern "C" __global__ void cublas_vectors_##name(gmt::blas::Vectors v) { vectors<S>(v); }        \
  extern "C" __global__ void cublas_reduce_##name(gmt::blas::Reduce r) { reduce<S>(r); }
GMT_TYPE(f32, float)
GMT_TYPE(f64, double)
