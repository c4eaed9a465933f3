// SPDX-License-Identifier: Apache-2.0
// A program as nvcc builds it, against the shared runtime: registration, kernels, symbols, managed
// variables, capture of a launch, last errors. Prints one line a check that fails; exit 0 if none
// does. The last check needs staged_device.cpp with STAGED_STICKY_AFTER_LAUNCH=poison:700.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__device__ float table[100] = {1.5f, 2.5f};
__constant__ int limits[4];
__managed__ int managed = 11;

__global__ void scale(float* values, int count, double factor) {
  if (threadIdx.x < count) values[threadIdx.x] *= factor + limits[0];
}
__global__ void poison() {}

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("failed: %s\n", what);
}

void check_symbols() {
  float values[2] = {};
  expect(cudaMemcpyFromSymbol(values, table, sizeof values) == cudaSuccess, "copy from symbol");
  expect(values[0] == 1.5f && values[1] == 2.5f, "the variable's first value");
  const int four[4] = {1, 2, 3, 4};
  expect(cudaMemcpyToSymbol(limits, four, sizeof four) == cudaSuccess, "copy to symbol");
  int third = 0;
  expect(cudaMemcpyFromSymbol(&third, limits, 4, 8) == cudaSuccess && third == 3,
         "copy with an offset");
  expect(cudaMemcpyToSymbol(limits, four, 4, 16) == cudaErrorInvalidValue,
         "past the end of the symbol");
  size_t bytes = 0;
  expect(cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == 400, "symbol size");
  void* address = nullptr;
  expect(cudaGetSymbolAddress(&address, table) == cudaSuccess && address != nullptr,
         "symbol address");
  static int not_a_symbol;
  expect(cudaGetSymbolAddress(&address, not_a_symbol) == cudaErrorInvalidSymbol, "no symbol");
  expect(managed == 11, "first value of the managed variable");
  managed = 12;
  expect(cudaGetSymbolAddress(&address, managed) == cudaSuccess && address == &managed,
         "managed address");
  cudaGetLastError();
}

void check_kernels(float* values) {
  scale<<<1, 32>>>(values, 32, 2.0);
  expect(cudaGetLastError() == cudaSuccess, "launch");
  scale<<<0, 32>>>(values, 32, 2.0);
  expect(cudaPeekAtLastError() == cudaErrorInvalidValue, "empty grid");
  expect(cudaGetLastError() == cudaErrorInvalidValue, "last error");
  expect(cudaGetLastError() == cudaSuccess, "last error is cleared");
  const char* name = nullptr;
  expect(cudaFuncGetName(&name, scale) == cudaSuccess && std::strcmp(name, "_Z5scalePfid") == 0,
         "mangled name");
  size_t offset = 0, size = 0;
  expect(cudaFuncGetParamInfo(reinterpret_cast<const void*>(scale), 2, &offset, &size) ==
             cudaSuccess &&
           offset == 16 && size == 8,
         "third parameter");
  expect(cudaFuncGetParamInfo(reinterpret_cast<const void*>(scale), 3, &offset, &size) ==
           cudaErrorInvalidValue,
         "no fourth parameter");
  cudaGetLastError();
}

void check_capture(float* values) {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemsetAsync(values, 0, 128, stream);
  scale<<<1, 32, 0, stream>>>(values, 32, 2.0);
  expect(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "capture of a launch");
  cudaGraphNode_t nodes[2] = {};
  size_t count = 2;
  cudaGraphNodeType type{};
  expect(cudaGraphGetNodes(graph, nodes, &count) == cudaSuccess && count == 2, "two nodes");
  expect(cudaGraphNodeGetType(nodes[1], &type) == cudaSuccess && type == cudaGraphNodeTypeKernel,
         "kernel node");
  expect(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess, "instantiate");
  expect(cudaGraphLaunch(exec, stream) == cudaSuccess, "graph launch");
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

void check_sticky_error(float* values) {
  poison<<<1, 1>>>();
  expect(cudaDeviceSynchronize() == cudaErrorIllegalAddress,
         "sticky error at the next synchronisation");
  expect(cudaFree(values) == cudaErrorIllegalAddress, "and at every later call");
}

int main() {
  float* values = nullptr;
  expect(cudaMalloc(&values, 128) == cudaSuccess, "cudaMalloc");
  check_symbols();
  check_kernels(values);
  check_capture(values);
  check_sticky_error(values);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
