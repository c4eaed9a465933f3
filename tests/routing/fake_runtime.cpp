// SPDX-License-Identifier: Apache-2.0
// A runtime of major RUNTIME_MAJOR (12 or 13) with versioned symbols, as the vendor's are, that
// reaches the driver as they do: dlopen, dlsym of cuGetProcAddress_v2, then requests. Functions
// whose signature differs between the majors print what arrived, so that a test sees whether a
// forwarded call was tampered with.
#include <cstdio>
#include <dlfcn.h>

#include "cuda_calls.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

void* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  static const auto ask = reinterpret_cast<GetProcAddress2>(dlsym(driver, "cuGetProcAddress_v2"));
  void* function = nullptr;
  return ask(name, &function, 12000, 0, nullptr) == 0 ? function : nullptr;
}

} // namespace

API int cudaMalloc(void** address, u64 bytes) {
  std::printf("runtime %d cudaMalloc\n", RUNTIME_MAJOR);
  static const auto allocate = reinterpret_cast<MemAlloc>(driver_function("cuMemAlloc"));
  return allocate(reinterpret_cast<u64*>(address), bytes);
}
API int cudaFree(void* address) {
  static const auto release = reinterpret_cast<MemFree>(driver_function("cuMemFree"));
  return release(reinterpret_cast<u64>(address));
}
API int cudaMemcpy(void*, const void*, u64, int kind) {
  return kind == 77 ? 21 : 0;
} // refused before any driver call
API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, u64,
                                         int* status) {
  *function = driver_function(name);
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return 0;
}

#if RUNTIME_MAJOR == 12
API int cudaMemPrefetchAsync(const void* address, u64 bytes, int device, void* stream) {
  std::printf("runtime 12 prefetch %p %llu %d %p\n", address, bytes, device, stream);
  return 0;
}
API int cudaMemcpyBatchAsync(void** dsts, void** srcs, u64* sizes, u64 count, void* attrs,
                             u64* indexes, u64 number, u64* failed, void* stream) {
  std::printf("runtime 12 batch %p %p %p %llu %p %p %llu %p %p\n", static_cast<void*>(dsts),
              static_cast<void*>(srcs), static_cast<void*>(sizes), count, attrs,
              static_cast<void*>(indexes), number, static_cast<void*>(failed), stream);
  return 12;
}
#else
struct Location {
  int type, id;
};
API int cudaMemPrefetchAsync(const void* address, u64 bytes, Location location, unsigned flags,
                             void* stream) {
  std::printf("runtime 13 prefetch %p %llu %d %d %u %p\n", address, bytes, location.type,
              location.id, flags, stream);
  return 0;
}
API int cudaMemcpyBatchAsync(const void* const* dsts, const void* const* srcs, const u64* sizes,
                             u64 count, void* attrs, u64* indexes, u64 number, void* stream) {
  std::printf("runtime 13 batch %p %p %p %llu %p %p %llu %p\n", static_cast<const void*>(dsts),
              static_cast<const void*>(srcs), static_cast<const void*>(sizes), count, attrs,
              static_cast<void*>(indexes), number, stream);
  return 13;
}
#endif
