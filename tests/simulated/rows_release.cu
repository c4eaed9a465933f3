// SPDX-License-Identifier: Apache-2.0
// Rows about releasing memory: wrong function, twice, inside an allocation, null, from a host
// function. Part of driver_answers. Each row leaves nothing allocated.
#include "driver_answers.h"

#include <cuda.h>

namespace {

__device__ int static_variable[16];

using Release = cudaError_t (*)(void*);

cudaError_t free_async(void* pointer) { return cudaFreeAsync(pointer, nullptr); }

template <Release release>
std::string of_pinned() {
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 4096);
  const std::string got = answer(release(pinned));
  cudaFreeHost(pinned);
  return got;
}

template <Release release>
std::string of_registered() {
  alignas(4096) static char memory[4096];
  cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault);
  const std::string got = answer(release(memory));
  cudaHostUnregister(memory);
  return got;
}

template <Release release>
std::string of_stack() {
  int local = 0;
  return answer(release(&local));
}

template <Release release>
std::string of_device() {
  DeviceBlock block(4096);
  return answer(release(block.pointer));
}

std::string free_twice() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 4096);
  cudaFree(pointer);
  return answer(cudaFree(pointer));
}

std::string free_interior() {
  DeviceBlock block(4096);
  return answer(cudaFree(block.at(512)));
}

std::string free_static() {
  void* address = nullptr;
  cudaGetSymbolAddress(&address, static_variable);
  return answer(cudaFree(address));
}

std::string free_array_memory() {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &desc, 64, 64);
  const std::string got = answer(cudaFree(array));
  cudaFreeArray(array);
  return got;
}

std::string free_host_twice() {
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 4096);
  cudaFreeHost(pinned);
  return answer(cudaFreeHost(pinned));
}

std::string free_async_of_malloc() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 4096);
  return answer(cudaFreeAsync(pointer, nullptr));
}

std::string free_async_of_pitched() {
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaMallocPitch(&pointer, &pitch, 100, 10);
  return answer(cudaFreeAsync(pointer, nullptr));
}

std::string free_async_of_managed() {
  void* pointer = nullptr;
  cudaMallocManaged(&pointer, 4096);
  const std::string got = answer(cudaFreeAsync(pointer, nullptr));
  cudaFree(pointer);
  return got;
}

std::string free_async_twice() {
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 4096, nullptr);
  cudaFreeAsync(pointer, nullptr);
  const std::string got = answer(cudaFreeAsync(pointer, nullptr));
  cudaDeviceSynchronize();
  return got;
}

std::string free_async_on_other_stream() {
  cudaStream_t one = nullptr, two = nullptr;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 4096, one);
  const std::string got = answer(cudaFreeAsync(pointer, two));
  cudaDeviceSynchronize();
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
  return got;
}

// cudaFree does not wait for what is pending on stream-ordered memory: on an H200 the memset then
// ran into the freed pages, and the context died with 700. So the work is finished first.
std::string free_of_async_memory() {
  void* pointer = nullptr;
  cudaMallocAsync(&pointer, 1 << 20, nullptr);
  cudaMemsetAsync(pointer, 1, 1 << 20, nullptr);
  cudaStreamSynchronize(nullptr);
  return answer(cudaFree(pointer));
}

std::string driver_free_of_async_memory() {
  void *pointer = nullptr, *entry = nullptr;
  cudaMallocAsync(&pointer, 1 << 20, nullptr);
  cudaMemsetAsync(pointer, 1, 1 << 20, nullptr);
  cudaStreamSynchronize(nullptr);
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuMemFree", &entry, 13000, cudaEnableDefault, &found);
  const auto mem_free = reinterpret_cast<CUresult (*)(CUdeviceptr)>(entry);
  return std::to_string(static_cast<int>(mem_free(reinterpret_cast<CUdeviceptr>(pointer))));
}

std::string unregister_pinned() { return of_pinned<cudaHostUnregister>(); }

std::string unregister_twice() {
  alignas(4096) static char memory[4096];
  cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault);
  cudaHostUnregister(memory);
  return answer(cudaHostUnregister(memory));
}

std::string free_in_host_function() {
  struct Work {
    void* pointer;
    cudaError_t error;
  } work{nullptr, cudaSuccess};
  cudaMalloc(&work.pointer, 4096);
  cudaLaunchHostFunc(
    nullptr,
    [](void* argument) {
      auto* w = static_cast<Work*>(argument);
      w->error = cudaFree(w->pointer);
    },
    &work);
  cudaDeviceSynchronize();
  cudaFree(work.pointer);
  return answer(work.error);
}

} // namespace

const std::vector<Row>& release_rows() {
  static const std::vector<Row> rows = {
    {"cudaFree twice", "1", free_twice},
    {"cudaFree of an interior pointer", "1", free_interior},
    {"cudaFree of pinned memory", "1", of_pinned<cudaFree>},
    {"cudaFree of registered memory", "1", of_registered<cudaFree>},
    {"cudaFree of stack memory", "1", of_stack<cudaFree>},
    {"cudaFree of static __device__ memory", "1", free_static},
    {"cudaFree of array memory", "1", free_array_memory},
    {"cudaFreeHost of device memory", "1", of_device<cudaFreeHost>},
    {"cudaFreeHost of registered memory", "1", of_registered<cudaFreeHost>},
    {"cudaFreeHost of stack memory", "1", of_stack<cudaFreeHost>},
    {"cudaFreeHost twice", "1", free_host_twice},
    {"cudaFreeAsync of cudaMalloc memory", "0", free_async_of_malloc},
    {"cudaFreeAsync of cudaMallocPitch memory", "0", free_async_of_pitched},
    {"cudaFreeAsync of managed memory", "801", free_async_of_managed},
    {"cudaFreeAsync of pinned memory", "1", of_pinned<free_async>},
    {"cudaFreeAsync twice", "1", free_async_twice},
    {"cudaFreeAsync on another stream than the allocation's", "0", free_async_on_other_stream},
    {"cudaFree of cudaMallocAsync memory, work done", "0", free_of_async_memory},
    {"cuMemFree of cudaMallocAsync memory, work done", "0", driver_free_of_async_memory},
    {"cudaHostUnregister of cudaMallocHost memory", "1", unregister_pinned},
    {"cudaHostUnregister twice", "713", unregister_twice},
    {"cudaHostUnregister of nullptr", "1", [] { return answer(cudaHostUnregister(nullptr)); }},
    {"cudaFree of nullptr", "0", [] { return answer(cudaFree(nullptr)); }},
    {"cudaFreeHost of nullptr", "0", [] { return answer(cudaFreeHost(nullptr)); }},
    {"cudaFreeAsync of nullptr", "0", [] { return answer(cudaFreeAsync(nullptr, nullptr)); }},
    {"cudaFreeArray of nullptr", "0", [] { return answer(cudaFreeArray(nullptr)); }},
    {"cudaFree inside cudaLaunchHostFunc", "800", free_in_host_function},
  };
  return rows;
}
