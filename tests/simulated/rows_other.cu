// SPDX-License-Identifier: Apache-2.0
// Rows about the device heap, textures, zero sizes, limits, entry points, out-of-memory, reset,
// launches and pitches. Part of driver_answers. Rows that end in a dead context run in a process of
// their own.
#include "driver_answers.h"

#include <cstdint>

namespace {

__device__ void* heap_pointer;

__global__ void allocate_on_heap() { heap_pointer = malloc(64); }
__global__ void free_on_device(void* pointer) { free(pointer); }
__global__ void free_twice_on_device() {
  void* pointer = malloc(64);
  free(pointer);
  free(pointer);
}
__global__ void write_bytes(char* memory, int count) {
  for (int i = 0; i < count; ++i) memory[i] = 1;
}
__global__ void nothing() {}

void* from_heap() {
  void* pointer = nullptr;
  allocate_on_heap<<<1, 1>>>();
  cudaMemcpyFromSymbol(&pointer, heap_pointer, sizeof pointer);
  return pointer;
}

std::string heap_attributes() {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, from_heap());
  return answer(error) + " type " + std::to_string(static_cast<int>(attributes.type));
}

std::string heap_copy() {
  char host[64];
  return answer(cudaMemcpy(host, from_heap(), 64, cudaMemcpyDeviceToHost));
}

std::string heap_limit() {
  allocate_on_heap<<<1, 1>>>();
  cudaDeviceSynchronize();
  const std::string got = answer(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  return got + " limit " + std::to_string(limit);
}

template <int past>
std::string kernel_past_end() {
  DeviceBlock block(100);
  write_bytes<<<1, 1>>>(block.at(), 100 + past);
  return answer(cudaDeviceSynchronize());
}

std::string free_malloc_in_kernel() {
  DeviceBlock block(4096);
  free_on_device<<<1, 1>>>(block.pointer);
  return answer(cudaDeviceSynchronize());
}

std::string double_free_in_kernel() {
  free_twice_on_device<<<1, 1>>>();
  return answer(cudaDeviceSynchronize());
}

std::string texture(size_t pitch, size_t base_offset) {
  DeviceBlock block(1 << 20);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = block.at(base_offset);
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = 100;
  resource.res.pitch2D.height = 10;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc description{};
  cudaTextureObject_t object = 0;
  const cudaError_t error = cudaCreateTextureObject(&object, &resource, &description, nullptr);
  if (error == cudaSuccess) cudaDestroyTextureObject(object);
  return answer(error);
}

template <class Allocate>
std::string zero(Allocate allocate) {
  void* pointer = &pointer;
  const std::string got = answer(allocate(&pointer));
  return got + (pointer == nullptr ? " null" : " not null");
}

std::string unknown_entry_point() {
  void* function = &function;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error =
    cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, cudaEnableDefault, &found);
  return answer(error) + (function == nullptr ? " null " : " not null ") +
         std::to_string(static_cast<int>(found));
}

std::string whole_memory() {
  size_t available = 0, total = 0;
  cudaMemGetInfo(&available, &total);
  void* pointer = nullptr;
  return answer(cudaMalloc(&pointer, total));
}

std::string free_after_reset() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 4096);
  cudaDeviceReset();
  return answer(cudaFree(pointer));
}

std::string launch_shape(unsigned grid, unsigned block) {
  nothing<<<grid, block>>>();
  return answer(cudaGetLastError());
}

template <size_t width>
std::string pitch_of() {
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&pointer, &pitch, width, 4);
  cudaFree(pointer);
  return std::to_string(pitch);
}

template <class Allocate>
std::string alignment_remainder(Allocate allocate) {
  void *one = nullptr, *two = nullptr;
  allocate(&one);
  allocate(&two);
  const auto rest = (reinterpret_cast<uintptr_t>(one) | reinterpret_cast<uintptr_t>(two)) % 512;
  cudaFree(one);
  cudaFree(two);
  return std::to_string(rest);
}

} // namespace

const std::vector<Row>& other_rows() {
  static const std::vector<Row> rows = {
    {"device-heap pointer: cudaFree", "1", [] { return answer(cudaFree(from_heap())); }, true},
    {"device-heap pointer: cudaFreeHost", "1", [] { return answer(cudaFreeHost(from_heap())); },
     true},
    {"device-heap pointer: cudaMemcpy from it", "1", heap_copy, true},
    {"device-heap pointer: cudaMemset", "0", [] { return answer(cudaMemset(from_heap(), 0, 64)); },
     true},
    {"device-heap pointer: cudaPointerGetAttributes", "0 type 0", heap_attributes, true},
    {"cudaDeviceSetLimit(MallocHeapSize) after a kernel with malloc", "1 limit 8388608", heap_limit,
     true},
    {"kernel writing 300 bytes past a 100-byte allocation", "0", kernel_past_end<300>},
    {"kernel writing 5000 bytes past a 100-byte allocation", "0", kernel_past_end<5000>},
    {"texture pitch2D, pitch 400", "1", [] { return texture(400, 0); }},
    {"texture pitch2D, pitch 416", "0", [] { return texture(416, 0); }},
    {"texture pitch2D, base + 4", "1", [] { return texture(416, 4); }},
    {"zero-size cudaMalloc", "0 null",
     [] { return zero([](void** p) { return cudaMalloc(p, 0); }); }},
    {"zero-size cudaMallocManaged", "0 null",
     [] { return zero([](void** p) { return cudaMallocManaged(p, 0); }); }},
    {"zero-size cudaMallocHost", "0 null",
     [] { return zero([](void** p) { return cudaMallocHost(p, 0); }); }},
    {"zero-size cudaMallocAsync", "0 null",
     [] { return zero([](void** p) { return cudaMallocAsync(p, 0, nullptr); }); }},
    {"cudaGetDriverEntryPoint of an unknown name", "0 null 1", unknown_entry_point},
    {"cudaMalloc of the whole memory", "2", whole_memory},
    {"cudaDeviceReset, then cudaFree of an old pointer", "1", free_after_reset, true},
    {"in-kernel free of a cudaMalloc pointer", "700", free_malloc_in_kernel, true},
    {"in-kernel double free", "719", double_free_in_kernel, true},
    {"launch with an empty grid", "1", [] { return launch_shape(0, 1); }},
    {"launch with 2048 threads a block", "1", [] { return launch_shape(1, 2048); }},
    {"cudaMallocPitch of 1 byte", "512", pitch_of<1>},
    {"cudaMallocPitch of 512 bytes", "512", pitch_of<512>},
    {"cudaMallocPitch of 513 bytes", "1024", pitch_of<513>},
    {"cudaMallocPitch of 4000 bytes", "4096", pitch_of<4000>},
    {"cudaMalloc address modulo 512", "0",
     [] { return alignment_remainder([](void** p) { return cudaMalloc(p, 1); }); }},
    {"cudaMallocAsync address modulo 512", "0",
     [] { return alignment_remainder([](void** p) { return cudaMallocAsync(p, 1, nullptr); }); }},
  };
  return rows;
}
