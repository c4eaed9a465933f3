// SPDX-License-Identifier: Apache-2.0
// What checks of blocks of malloc in kernels cost, and whether they are silent: threads fill
// blocks, hand them to each other and free them. Prints what was wrong, and the time. With an
// argument the heap has 256 MiB.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    cudaError_t e = (x);                                                                           \
    if (e != cudaSuccess) {                                                                        \
      printf("%s: %s\n", #x, cudaGetErrorString(e));                                               \
      return 3;                                                                                    \
    }                                                                                              \
  } while (0)
__device__ unsigned long long shelf[8192];
__global__ void mix(int rounds, int seed, int* wrong, int* failed) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = me * 2654435761u + seed;
  for (int round = 0; round < rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    const int count = 1 + (state >> 10) % 200;
    int* const block =
      (state & 4) ? static_cast<int*>(malloc(sizeof(int) * count)) : new int[count];
    if (block == nullptr) {
      atomicAdd(failed, 1);
      continue;
    }
    for (int i = 0; i < count; ++i) block[i] = count * 7 + i;
    __threadfence();
    // hands it over to the next thread at the shelf, and frees what was there
    const int index = (state >> 20) % 1024;
    auto* const old = reinterpret_cast<int*>(
      atomicExch(&shelf[index], reinterpret_cast<unsigned long long>(block)));
    if (old == nullptr) continue;
    __threadfence();
    const int first = old[0], n = first / 7;
    for (int i = 0; i < n; ++i)
      if (old[i] != n * 7 + i) {
        atomicAdd(wrong, 1);
        break;
      }
    free(old);
  }
}
__global__ void large(int n, int* wrong) {
  double* const block = static_cast<double*>(malloc(sizeof(double) * n));
  if (block == nullptr) return;
  for (int i = 0; i < n; ++i) block[i] = i;
  for (int i = 0; i < n; ++i)
    if (block[i] != i) atomicAdd(wrong, 1);
  free(block);
}
__global__ void clear_shelf() {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  if (me < 1024) {
    free(reinterpret_cast<void*>(shelf[me]));
    shelf[me] = 0;
  }
}
struct Node {
  Node* next;
  int value;
};
__global__ void list(int n, int* wrong) {
  Node* head = nullptr;
  for (int i = 0; i < n; ++i) head = new Node{head, i};
  for (int i = n; i-- > 0;) {
    if (head->value != i) atomicAdd(wrong, 1);
    Node* const next = head->next;
    delete head;
    head = next;
  }
}
int main(int argc, char** argv) {
  int* d = nullptr;
  CHECK(cudaMalloc(&d, 8));
  CHECK(cudaMemset(d, 0, 8));
  if (argc > 1) CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 << 20));
  list<<<4, 32>>>(20, d);
  CHECK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    mix<<<32, 128>>>(20, i, d, d + 1);
    large<<<1, 4>>>(20000, d);
  }
  CHECK(cudaDeviceSynchronize());
  const auto ms =
    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  clear_shelf<<<8, 128>>>();
  int host[2];
  CHECK(cudaMemcpy(host, d, 8, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(d));
  printf("wrong %d, failed %d, %.1f ms\n", host[0], host[1], ms);
  return host[0] != 0;
}
