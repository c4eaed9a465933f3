// SPDX-License-Identifier: Apache-2.0
// An extension that depends on a runtime of major RUNTIME_MAJOR and is opened with RTLD_LOCAL.
#include <cstdio>

#include "cuda_calls.h"

extern "C" {
int cudaMalloc(void**, u64);
int cudaFree(void*);
int cudaMemcpy(void*, const void*, u64, int);
int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, u64, int*);
#if RUNTIME_MAJOR == 12
int cudaMemPrefetchAsync(const void*, u64, int, void*);
int cudaMemcpyBatchAsync(void**, void**, u64*, u64, void*, u64*, u64, u64*, void*);
#else
struct Location {
  int type, id;
};
int cudaMemPrefetchAsync(const void*, u64, Location, unsigned, void*);
int cudaMemcpyBatchAsync(const void* const*, const void* const*, const u64*, u64, void*, u64*, u64,
                         void*);
#endif
}

namespace {

template <class T> T* pointer(u64 value) { return reinterpret_cast<T*>(value); }

int changed_signatures() {
#if RUNTIME_MAJOR == 12
  cudaMemPrefetchAsync(pointer<void>(0x11), 22, 33, pointer<void>(0x44));
  return cudaMemcpyBatchAsync(pointer<void*>(0x1), pointer<void*>(0x2), pointer<u64>(0x3), 4,
                              pointer<void>(0x5), pointer<u64>(0x6), 7, pointer<u64>(0x8),
                              pointer<void>(0x9));
#else
  cudaMemPrefetchAsync(pointer<void>(0x11), 22, Location{2, 33}, 5, pointer<void>(0x44));
  return cudaMemcpyBatchAsync(pointer<void*>(0x1), pointer<void*>(0x2), pointer<u64>(0x3), 4,
                              pointer<void>(0x5), pointer<u64>(0x6), 7, pointer<void>(0x8));
#endif
}

} // namespace

extern "C" __attribute__((visibility("default"))) int plugin_run() {
  void* address = nullptr;
  std::printf("malloc %d\n", cudaMalloc(&address, 1000 + RUNTIME_MAJOR));
  std::printf("refused %d\n", cudaMemcpy(address, address, 8, 77));
  void* entry = nullptr;
  cudaGetDriverEntryPointByVersion("cuMemsetD8", &entry, 12000, 0, nullptr);
  std::printf("set %d\n", reinterpret_cast<int (*)(u64, unsigned char, u64)>(entry)(
                            reinterpret_cast<u64>(address), 1, 8));
  std::printf("free %d\n", cudaFree(address));
  std::printf("batch %d\n", changed_signatures());
  return 0;
}
