// SPDX-License-Identifier: Apache-2.0
// y = A x with a diagonal matrix in CSR form, with cuSPARSE's generic interface.
// libraries: cusparse
#include <cusparse.h>

#include <vector>

#include "library_program.h"

template <class T> T* to_device(const std::vector<T>& host) {
  T* device;
  MUST(cudaMalloc(&device, host.size() * sizeof(T)));
  MUST(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

int main(int argc, char** argv) {
  need_gpu();
  constexpr int n = 4096;
  std::vector<int> rows(n + 1), columns(n);
  std::vector<float> values(n, 2.0f), x(n, 3.0f), y(n, 0.0f);
  for (int i = 0; i <= n; ++i) rows[i] = i;
  for (int i = 0; i < n; ++i) columns[i] = i;
  int *rows_d = to_device(rows), *columns_d = to_device(columns);
  float *values_d = to_device(values), *x_d = to_device(x), *y_d = to_device(y);
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x_vector, y_vector;
  MUST(cusparseCreate(&handle));
  MUST(cusparseCreateCsr(&matrix, n, n, n, rows_d, columns_d, values_d, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  MUST(cusparseCreateDnVec(&x_vector, n, x_d, CUDA_R_32F));
  MUST(cusparseCreateDnVec(&y_vector, n, y_d, CUDA_R_32F));
  const float one = 1.0f, zero = 0.0f;
  size_t bytes = 0;
  MUST(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x_vector,
                               &zero, y_vector, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  void* work = nullptr;
  MUST(cudaMalloc(&work, bytes + 1));
  MUST(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, x_vector, &zero,
                    y_vector, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, work));
  MUST(cudaMemcpy(y.data(), y_d, n * sizeof(float), cudaMemcpyDeviceToHost));
  MUST(cusparseDestroySpMat(matrix));
  MUST(cusparseDestroyDnVec(x_vector));
  MUST(cusparseDestroyDnVec(y_vector));
  MUST(cusparseDestroy(handle));
  for (void* p :
       {static_cast<void*>(rows_d), static_cast<void*>(columns_d), static_cast<void*>(values_d),
        static_cast<void*>(x_d), static_cast<void*>(y_d), work}) {
    MUST(cudaFree(p));
  }
  if (y[5] != 6.0f) return 1;
  return finish(argc, argv);
}
