// SPDX-License-Identifier: Apache-2.0
// What a start costs under --kernel-checks: CUB's radix sort for three types, 13 kernels in all.
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>
#define CHECK(x)                                                                                   \
  do {                                                                                             \
    cudaError_t e = (x);                                                                           \
    if (e != cudaSuccess) {                                                                        \
      printf("%s: %s\n", #x, cudaGetErrorString(e));                                               \
      return 3;                                                                                    \
    }                                                                                              \
  } while (0)
template <class T> int sort(int n) {
  std::vector<T> host(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<T>((i * 7919LL) % n);
  T *in, *out;
  void* temp = nullptr;
  size_t bytes = 0;
  CHECK(cudaMalloc(&in, n * sizeof(T)));
  CHECK(cudaMalloc(&out, n * sizeof(T)));
  CHECK(cudaMemcpy(in, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  CHECK(cub::DeviceRadixSort::SortKeys(temp, bytes, in, out, n));
  CHECK(cudaMalloc(&temp, bytes));
  CHECK(cub::DeviceRadixSort::SortKeys(temp, bytes, in, out, n));
  CHECK(cudaMemcpy(host.data(), out, n * sizeof(T), cudaMemcpyDeviceToHost));
  for (int i = 1; i < n; ++i)
    if (host[i - 1] > host[i]) {
      printf("not sorted\n");
      return 1;
    }
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(temp));
  return 0;
}
int main() {
  int r = sort<int>(100000) | sort<double>(100000) | sort<unsigned long long>(5000);
  printf("sorted %d\n", r);
  return r;
}
