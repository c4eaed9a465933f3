// SPDX-License-Identifier: Apache-2.0
// C = A B with cuBLAS, twice on one handle, then on a second stream. With the word "short" B has
// half of its columns: with --guard a kernel of cuBLAS's faults, and the report names the library.
// libraries: cublas
//
// run: short
// options: --guard
// exit: signal 6
// not-checked: leak
// expect: error kernel-out-of-bounds message="512.0 KiB" stacks="accessed here","launched here","allocated here"
#include <cublas_v2.h>

#include <vector>

#include "library_program.h"

int main(int argc, char** argv) {
  need_gpu();
  constexpr int n = 512;
  const std::vector<float> ones(n * n, 1.0f);
  std::vector<float> product(n * n);
  float *a, *b, *c;
  MUST(cudaMalloc(&a, n * n * sizeof(float)));
  const bool is_short = argc > 1 && std::strcmp(argv[1], "short") == 0;
  const int columns = is_short ? n / 2 : n; // of b
  MUST(cudaMalloc(&b, columns * n * sizeof(float)));
  MUST(cudaMalloc(&c, n * n * sizeof(float)));
  cublasHandle_t handle;
  cudaStream_t stream;
  MUST(cublasCreate(&handle));
  MUST(cudaStreamCreate(&stream));
  MUST(cublasSetMatrix(n, n, sizeof(float), ones.data(), n, a, n));
  MUST(cublasSetMatrix(n, columns, sizeof(float), ones.data(), n, b, n));
  const float one = 1.0f, zero = 0.0f;
  for (int i = 0; i < 3; ++i) {
    if (i == 2) MUST(cublasSetStream(handle, stream));
    MUST(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n));
  }
  MUST(cudaStreamSynchronize(stream));
  MUST(cublasGetMatrix(n, n, sizeof(float), c, n, product.data(), n));
  MUST(cublasDestroy(handle));
  MUST(cudaStreamDestroy(stream));
  MUST(cudaFree(a));
  MUST(cudaFree(b));
  MUST(cudaFree(c));
  if (product[7] != static_cast<float>(n)) return 1;
  return finish(argc, argv);
}
