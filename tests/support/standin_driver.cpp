// SPDX-License-Identifier: Apache-2.0
// A stand-in libcuda.so.1 for tests of the interposer: few functions, no memory behind them, every
// call reported to the file named by STANDIN_LOG. What the simulated device does not do, it does:
// it answers unknown names either way (STANDIN_UNKNOWN=500 or null), runs host functions inside the
// call, dies or sleeps in cuCtxSynchronize (STANDIN_SYNC=abort, segv, kill, sleep), and can be
// built without -Bsymbolic or without newer functions. Everything is async-signal-safe and
// lock-free, so that handlers and 256 threads may call it.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#define API extern "C" __attribute__((visibility("default")))

using u32 = unsigned;
using u64 = unsigned long long;

namespace {

enum Result : int { kOk = 0, kInvalid = 1, kOutOfMemory = 2, kNotFound = 500 };

void note_call(const char* name) {
  static const char* const path = std::getenv("STANDIN_LOG");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  char line[64];
  const std::size_t n = std::strlen(name);
  std::memcpy(line, name, n);
  line[n] = '\n';
  if (write(fd, line, n + 1) < 0) std::abort();
  close(fd);
}

// Addresses: pages of a made-up range, the last freed reused first.
constexpr u64 kBase = 0x7f0000000000;
constexpr u32 kPages = 1 << 18;
std::atomic<u32> next_page{1};
std::atomic<u64> free_pages{0}; // tag << 32 | page
std::atomic<u32> page_link[kPages];
std::atomic<bool> page_live[kPages];

u64 take_address() {
  u64 head = free_pages.load();
  while ((head & 0xffffffff) != 0) {
    const u32 page = static_cast<u32>(head);
    if (free_pages.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | page_link[page].load())) {
      page_live[page].store(true);
      return kBase + u64{page} * 4096;
    }
  }
  const u32 page = next_page.fetch_add(1);
  if (page >= kPages) return 0;
  page_live[page].store(true);
  return kBase + u64{page} * 4096;
}

int give_back(u64 address) {
  if (address == 0) return kOk;
  const u64 page = (address - kBase) / 4096;
  if (address < kBase || page >= kPages || address % 4096 != 0 || !page_live[page].exchange(false))
    return kInvalid;
  u64 head = free_pages.load();
  do {
    page_link[page].store(static_cast<u32>(head));
  } while (!free_pages.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | page));
  return kOk;
}

int allocate(u64* address, u64 bytes) {
  if (address == nullptr || bytes == 0) return kInvalid;
  if (bytes > u64{1} << 40) return kOutOfMemory; // the out-parameter stays as it was
  const u64 at = take_address();
  if (at == 0) return kOutOfMemory;
  *address = at;
  return kOk;
}

thread_local u64 current_context = 0;

} // namespace

API int cuInit(u32) { return note_call("cuInit"), kOk; }
API int cuDriverGetVersion(int* version) {
  return note_call("cuDriverGetVersion"), *version = 13000, kOk;
}
API int cuDeviceGetCount(int* count) { return note_call("cuDeviceGetCount"), *count = 1, kOk; }
API int cuDeviceGet(int* device, int) { return note_call("cuDeviceGet"), *device = 0, kOk; }
API int cuCtxCreate_v2(u64* context, u32, int) {
  note_call("cuCtxCreate_v2");
  return *context = current_context = 0xc000, kOk;
}
API int cuCtxGetCurrent(u64* context) {
  return note_call("cuCtxGetCurrent"), *context = current_context, kOk;
}
API int cuCtxGetDevice(int* device) { return note_call("cuCtxGetDevice"), *device = 0, kOk; }
API int cuMemAlloc(u32*, u32) {
  return note_call("cuMemAlloc"), kInvalid;
} // 32-bit addresses: refused
API int cuMemAlloc_v2(u64* address, u64 bytes) {
  return note_call("cuMemAlloc_v2"), allocate(address, bytes);
}
API int cuMemFree(u32) { return note_call("cuMemFree"), kInvalid; }
API int cuMemFree_v2(u64 address) { return note_call("cuMemFree_v2"), give_back(address); }
API int cuMemAllocManaged(u64* address, u64 bytes, u32) {
  note_call("cuMemAllocManaged");
  // Through the loader where this library is not linked with -Bsymbolic
  return cuMemAlloc_v2(address, bytes);
}
API int cuMemHostRegister_v2(void*, u64, u32) { return note_call("cuMemHostRegister_v2"), kOk; }
API int cuMemHostUnregister(void*) { return note_call("cuMemHostUnregister"), kOk; }
API int cuMemAllocPitch_v2(u64* address, u64* pitch, u64 width, u64 height, u32) {
  note_call("cuMemAllocPitch_v2");
  if (pitch == nullptr) return kInvalid;
  *pitch = (width + 511) / 512 * 512;
  return allocate(address, *pitch * height);
}
API int cuMemcpyHtoD_v2(u64, const void*, u64) { return note_call("cuMemcpyHtoD_v2"), kOk; }
API int cuMemcpyDtoH_v2(void*, u64, u64) { return note_call("cuMemcpyDtoH_v2"), kOk; }
API int cuMemsetD8_v2(u64, unsigned char, u64) { return note_call("cuMemsetD8_v2"), kOk; }
API int cuStreamBeginCapture_v2(u64, int) { return note_call("cuStreamBeginCapture_v2"), kOk; }
API int cuStreamEndCapture(u64, u64* graph) {
  return note_call("cuStreamEndCapture"), *graph = 0x9000, kOk;
}
API int cuLaunchKernel(u64, u32, u32, u32, u32, u32, u32, u32, u64, void**, void**) {
  return note_call("cuLaunchKernel"), kOk;
}
API int cuLaunchHostFunc(u64, void (*function)(void*), void* data) {
  note_call("cuLaunchHostFunc");
  function(data);
  return kOk;
}
API int cuCtxSynchronize() {
  note_call("cuCtxSynchronize");
  const char* way = std::getenv("STANDIN_SYNC");
  if (way == nullptr) return kOk;
  if (std::strcmp(way, "abort") == 0) std::abort();
  if (std::strcmp(way, "segv") == 0) raise(SIGSEGV);
  if (std::strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (std::strcmp(way, "sleep") == 0) sleep(30);
  return kOk;
}
API int cuGetExportTable(const void**, const void*) {
  return note_call("cuGetExportTable"), kNotFound;
}

#ifndef STANDIN_SPARSE
API int cuMemAllocAsync(u64* address, u64 bytes, u64) {
  return note_call("cuMemAllocAsync"), allocate(address, bytes);
}
API int cuMemAllocAsync_ptsz(u64* address, u64 bytes, u64) {
  return note_call("cuMemAllocAsync_ptsz"), allocate(address, bytes);
}
API int cuMemFreeAsync(u64 address, u64) { return note_call("cuMemFreeAsync"), give_back(address); }
API int cuMemFreeAsync_ptsz(u64 address, u64) {
  return note_call("cuMemFreeAsync_ptsz"), give_back(address);
}

API int cuGetProcAddress(const char* name, void** function, int version, u64 flags);
API int cuGetProcAddress_v2(const char* name, void** function, int version, u64 flags, int* status);

namespace {

struct Versioned {
  const char* base;
  int introduced;
  bool per_thread; // answered for flag 2
  void* function;
};
#define ROW(base, introduced, per_thread, symbol)                                                  \
  {#base, introduced, per_thread, reinterpret_cast<void*>(&symbol)}
const Versioned kVersioned[] = {
  ROW(cuInit, 2000, false, cuInit),
  ROW(cuCtxCreate, 3020, false, cuCtxCreate_v2),
  ROW(cuDriverGetVersion, 2020, false, cuDriverGetVersion),
  ROW(cuDeviceGetCount, 2000, false, cuDeviceGetCount),
  ROW(cuDeviceGet, 2000, false, cuDeviceGet),
  ROW(cuCtxGetCurrent, 4000, false, cuCtxGetCurrent),
  ROW(cuMemAlloc, 2000, false, cuMemAlloc),
  ROW(cuMemAlloc, 3020, false, cuMemAlloc_v2),
  ROW(cuMemFree, 2000, false, cuMemFree),
  ROW(cuMemFree, 3020, false, cuMemFree_v2),
  ROW(cuMemcpyHtoD, 3020, false, cuMemcpyHtoD_v2),
  ROW(cuMemsetD8, 3020, false, cuMemsetD8_v2),
  ROW(cuMemAllocAsync, 11020, false, cuMemAllocAsync),
  ROW(cuMemAllocAsync, 11020, true, cuMemAllocAsync_ptsz),
  ROW(cuMemFreeAsync, 11020, false, cuMemFreeAsync),
  ROW(cuMemFreeAsync, 11020, true, cuMemFreeAsync_ptsz),
  ROW(cuGetProcAddress, 11030, false, cuGetProcAddress),
  ROW(cuGetProcAddress, 12000, false, cuGetProcAddress_v2),
};

// The newest not newer than asked for; with flag 2 the per-thread form if there is one.
void* versioned(const char* name, int version, u64 flags) {
  const Versioned* best = nullptr;
  for (const Versioned& row : kVersioned) {
    if (std::strcmp(row.base, name) != 0 || row.introduced > version ||
        (row.per_thread && flags != 2))
      continue;
    if (best == nullptr || row.introduced > best->introduced || row.per_thread) best = &row;
  }
  return best != nullptr ? best->function : nullptr;
}

int answer_request(const char* name, void** function, int version, u64 flags) {
  if (name == nullptr || function == nullptr) return kInvalid;
  *function = versioned(name, version, flags);
  if (*function != nullptr) return kOk;
  const char* unknown = std::getenv("STANDIN_UNKNOWN");
  return unknown != nullptr && std::strcmp(unknown, "null") == 0 ? kOk : kNotFound;
}

} // namespace

API int cuGetProcAddress(const char* name, void** function, int version, u64 flags) {
  return answer_request(name, function, version, flags);
}
API int cuGetProcAddress_v2(const char* name, void** function, int version, u64 flags,
                            int* status) {
  const int result = answer_request(name, function, version, flags);
  if (status != nullptr) *status = result == kOk && *function != nullptr ? 0 : 1;
  return result;
}
#endif
