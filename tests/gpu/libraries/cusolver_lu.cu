// SPDX-License-Identifier: Apache-2.0
// Solves a small system by LU factorisation with cuSOLVER; the caller provides the work area.
// libraries: cusolver cublas
#include <cusolverDn.h>

#include <cmath>
#include <vector>

#include "library_program.h"

int main(int argc, char** argv) {
  need_gpu();
  constexpr int n = 256;
  std::vector<double> matrix(n * n, 1.0), right(n, 1.0);
  for (int i = 0; i < n; ++i)
    matrix[i * n + i] = n + 1.0; // diagonally dominant: every unknown is 1 / (2 n)
  double *a, *b, *work;
  int *pivots, *info;
  MUST(cudaMalloc(&a, n * n * sizeof(double)));
  MUST(cudaMalloc(&b, n * sizeof(double)));
  MUST(cudaMalloc(&pivots, n * sizeof(int)));
  MUST(cudaMalloc(&info, sizeof(int)));
  MUST(cudaMemcpy(a, matrix.data(), n * n * sizeof(double), cudaMemcpyHostToDevice));
  MUST(cudaMemcpy(b, right.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  cusolverDnHandle_t handle;
  MUST(cusolverDnCreate(&handle));
  int doubles = 0, failed = -1;
  MUST(cusolverDnDgetrf_bufferSize(handle, n, n, a, n, &doubles));
  MUST(cudaMalloc(&work, doubles * sizeof(double)));
  MUST(cusolverDnDgetrf(handle, n, n, a, n, work, pivots, info));
  MUST(cusolverDnDgetrs(handle, CUBLAS_OP_N, n, 1, a, n, pivots, b, n, info));
  MUST(cudaMemcpy(&failed, info, sizeof failed, cudaMemcpyDeviceToHost));
  MUST(cudaMemcpy(right.data(), b, n * sizeof(double), cudaMemcpyDeviceToHost));
  MUST(cusolverDnDestroy(handle));
  for (void* p : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(work),
                  static_cast<void*>(pivots), static_cast<void*>(info)}) {
    MUST(cudaFree(p));
  }
  if (failed != 0 || std::fabs(right[3] - 1.0 / (2 * n)) > 1e-9) return 1;
  return finish(argc, argv);
}
