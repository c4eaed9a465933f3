// SPDX-License-Identifier: Apache-2.0
// A program of CUDA 12: built with its headers, linked with its libcudart.so.12. Prints what
// functions answer whose form changed in CUDA 13, runs a kernel, and makes two mistakes.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <vector>

static const char kPtx[] = R"(
.version 8.0
.target sm_52
.address_size 64
.visible .entry twice(.param .u64 p)
{
  .reg .b64 %a<4>;
  .reg .b32 %v<4>;
  ld.param.u64 %a1, [p];
  cvta.to.global.u64 %a1, %a1;
  mov.u32 %v1, %tid.x;
  mul.wide.u32 %a2, %v1, 4;
  add.s64 %a1, %a1, %a2;
  ld.global.u32 %v2, [%a1];
  add.u32 %v2, %v2, %v2;
  st.global.u32 [%a1], %v2;
  ret;
}
)";

#define CHECK(call)                                                                                \
  if (const cudaError_t error = (call); error != cudaSuccess)                                      \
  std::printf("%s: %s\n", #call, cudaGetErrorName(error))

static void properties() {
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version));
  std::printf("runtime %d\n", version / 1000);
  cudaDeviceProp p;
  std::memset(&p, 0x5a, sizeof p);
  CHECK(cudaGetDeviceProperties(&p, 0));
  int clock = 0, threads = 0, memory = 0;
  CHECK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
  std::printf("properties %d %d %d %d.%d %d\n", p.clockRate == clock, p.memoryClockRate == memory,
              p.maxThreadsPerMultiProcessor == threads, p.major, p.minor, p.reserved[62]);
  std::printf("name %s\n", p.name);
}

static void graphs() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t captured = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  std::size_t count = 99;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
  CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &captured, &dependencies, &count));
  std::printf("capture %d %d %d %zu\n", status == cudaStreamCaptureStatusActive, id != 0,
              captured != nullptr, count);
  CHECK(cudaStreamUpdateCaptureDependencies(stream, nullptr, 0, cudaStreamSetCaptureDependencies));
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphDestroy(captured));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t a, b;
  CHECK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
  CHECK(cudaGraphAddEmptyNode(&b, graph, nullptr, 0));
  CHECK(cudaGraphAddDependencies(graph, &a, &b, 1));
  cudaGraphNode_t from, to;
  std::size_t edges = 1, before = 1, after = 1;
  CHECK(cudaGraphGetEdges(graph, &from, &to, &edges));
  cudaGraphNode_t other;
  CHECK(cudaGraphNodeGetDependencies(b, &other, &before));
  CHECK(cudaGraphNodeGetDependentNodes(a, &other, &after));
  std::printf("edges %zu %d %d %zu %zu\n", edges, from == a, to == b, before, after);
  CHECK(cudaGraphRemoveDependencies(graph, &a, &b, 1));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

static void memory() {
  void* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, 0));
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
  CHECK(cudaMemPrefetchAsync(managed, 4096, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(managed));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin, nullptr));
  CHECK(cudaEventRecord(end, nullptr));
  CHECK(cudaEventSynchronize(end));
  float time = -1;
  CHECK(cudaEventElapsedTime(&time, begin, end));
  std::printf("time %d\n", time >= 0);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
}

static void kernel() {
  cudaLibrary_t library;
  cudaKernel_t twice;
  CHECK(cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&twice, library, "twice"));
  std::vector<int> values{1, 2, 3, 4};
  void* device = nullptr;
  CHECK(cudaMalloc(&device, 16));
  CHECK(cudaMemcpy(device, values.data(), 16, cudaMemcpyHostToDevice));
  void* arguments[] = {&device};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(twice), dim3{1, 1, 1}, dim3{4, 1, 1},
                         arguments, 0, nullptr));
  CHECK(cudaMemcpy(values.data(), device, 16, cudaMemcpyDeviceToHost));
  std::printf("kernel %d %d %d %d\n", values[0], values[1], values[2], values[3]);
  CHECK(cudaFree(device));
  std::printf("again %d\n", cudaFree(device)); // a double free
  CHECK(cudaMalloc(&device, 8192));            // a leak
  CHECK(cudaMemset(device, 0, 8192));
}

int main() {
  properties();
  graphs();
  memory();
  kernel();
  return 0;
}
