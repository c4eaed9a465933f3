// SPDX-License-Identifier: Apache-2.0
// Kernels that the simulated device executes, with results that the host checks: variables of each
// kind with their first values, structures by value, dynamic shared memory, printf, a stream in
// order, a graph, attributes, and the error that a GPU keeps after a bad access. It is built with
// each packing of PTX. Ends with 0 if all is right, else with the number of the check.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

int checks = 0;

void expect(bool right, const char* what) {
  ++checks;
  if (right) return;
  std::printf("check %d failed: %s\n", checks, what);
  std::exit(checks);
}
#define EXPECT(condition) expect(condition, #condition)

struct Weights {
  float first;
  int rest[3];
};

} // namespace

__device__ int table[4] = {1, 2, 3, 4};
__device__ int* pointer_to_third = &table[2];
__constant__ float scale = 2.5f;
__managed__ int counter = 7;

__global__ void combine(const float* x, float* z, int n, Weights w) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) z[i] = x[i] * scale + w.first + static_cast<float>(w.rest[2] + table[i & 3]);
  if (i == 0) {
    atomicAdd(&counter, *pointer_to_third);
    printf("from thread %d of %s: %.2f\n", i, "combine", 1.5);
  }
}

__global__ void __launch_bounds__(128) reverse(int* out) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void twice(int* values) { values[threadIdx.x] *= 2; }
__global__ void store_to(int* address) { *address = 1; }

namespace {

void check_values() {
  constexpr int n = 1000;
  static float host[n];
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  float *x = nullptr, *z = nullptr;
  EXPECT(cudaMalloc(&x, sizeof host) == cudaSuccess && cudaMalloc(&z, sizeof host) == cudaSuccess);
  EXPECT(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  combine<<<(n + 255) / 256, 256>>>(x, z, n, Weights{3, {0, 0, 4}});
  EXPECT(cudaMemcpy(host, z, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += host[i] != static_cast<float>(i) * 2.5f + 7 + static_cast<float>((i & 3) + 1) ? 1 : 0;
  EXPECT(wrong == 0);
  EXPECT(counter == 7 + 3);
  EXPECT(cudaFree(x) == cudaSuccess && cudaFree(z) == cudaSuccess);
}

void check_symbols() {
  int values[4] = {};
  EXPECT(cudaMemcpyFromSymbol(values, table, sizeof values) == cudaSuccess && values[3] == 4);
  values[0] = 50;
  EXPECT(cudaMemcpyToSymbol(table, values, sizeof values) == cudaSuccess);
  void* address = nullptr;
  size_t bytes = 0;
  EXPECT(cudaGetSymbolAddress(&address, table) == cudaSuccess);
  EXPECT(cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == sizeof values);
}

void check_graph() {
  constexpr int n = 64;
  int host[n] = {}, *out = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT(cudaMalloc(&out, sizeof host) == cudaSuccess);
  EXPECT(cudaStreamCreate(&stream) == cudaSuccess);
  EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  reverse<<<1, n, n * sizeof(int), stream>>>(out);
  twice<<<1, n, 0, stream>>>(out);
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  for (int i = 0; i < 2; ++i) EXPECT(cudaGraphLaunch(exec, stream) == cudaSuccess);
  EXPECT(cudaMemcpyAsync(host, out, sizeof host, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
  EXPECT(host[0] == 2 * (n - 1) && host[n - 1] == 0);
  EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
  EXPECT(cudaStreamDestroy(stream) == cudaSuccess && cudaFree(out) == cudaSuccess);
}

void check_attributes() {
  cudaFuncAttributes attributes;
  EXPECT(cudaFuncGetAttributes(&attributes, reverse) == cudaSuccess);
  EXPECT(attributes.maxThreadsPerBlock == 128 && attributes.ptxVersion >= 75);
  cudaDeviceProp device;
  EXPECT(cudaGetDeviceProperties(&device, 0) == cudaSuccess);
  EXPECT(10 * device.major + device.minor == attributes.ptxVersion);
  int blocks = 0;
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 128, 0) == cudaSuccess);
  EXPECT(blocks == 16);
}

// The launch answers 0, and all that follows 700.
void check_fault() {
  store_to<<<1, 1>>>(nullptr);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  void* block = nullptr;
  EXPECT(cudaMalloc(&block, 100) == cudaErrorIllegalAddress);
}

} // namespace

int main() {
  check_values();
  check_symbols();
  check_graph();
  check_attributes();
  check_fault();
}
