// SPDX-License-Identifier: Apache-2.0
#include "made_up_driver.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <sys/mman.h>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/reports.h"

namespace gmt::interposer::kernel_checks {

Reported reported;
bool is_out_of_memory = false;
std::uint64_t where_memory_is = 0;
std::function<void()> while_fetching;

namespace {

const auto kContext = reinterpret_cast<CUcontext>(0x1000);
constexpr std::uint64_t kPool = 256 << 10;
struct Pool {
  std::byte* begin = nullptr;
  std::size_t used = 0;
};
std::map<std::uint64_t, Pool> pools; // by where they are

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); } // NOLINT

int current(CUcontext* context) {
  *context = kContext;
  return 0;
}
int device(CUdevice* ordinal) {
  *ordinal = 0;
  return 0;
}
int total(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{2} << 30;
  return 0;
}
template <class... Args> int done(Args...) { return 0; }
int no_primary(CUdevice, unsigned*, int* is_there) {
  *is_there = 0;
  return 0;
}
int make_stream(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(0x2000);
  return 0;
}
int set_16(CUdeviceptr to, unsigned short value, std::size_t count, CUstream) {
  auto* words = static_cast<unsigned short*>(at(to));
  std::fill(words, words + count, value);
  return 0;
}
int send(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(at(to), from, bytes);
  return 0;
}
int fetch(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  if (const auto called = while_fetching) called();
  std::memcpy(to, at(from), bytes);
  return 0;
}
void* pages(std::size_t bytes, std::uint64_t address = 0) {
  return mmap(at(address), bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
int allocate(CUdeviceptr* address, std::size_t bytes) {
  Pool& pool = pools[where_memory_is];
  if (pool.begin == nullptr) pool.begin = static_cast<std::byte*>(pages(kPool, where_memory_is));
  if (is_out_of_memory || pool.used + bytes > kPool) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(pool.begin + pool.used);
  pool.used += (bytes + 511) / 512 * 512;
  return 0;
}
int give_back(CUdeviceptr address) {
  reported.freed.push_back(address);
  is_out_of_memory = false;
  return 0;
}
int reserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  *address = reinterpret_cast<CUdeviceptr>(pages(bytes)); // never given back: one a process
  return 0;
}
int create(CUmemGenericAllocationHandle* handle, std::size_t, const CUmemAllocationProp*,
           unsigned long long) {
  *handle = 1;
  return 0;
}
int granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = 4096;
  return 0;
}

void* symbol(const char* name) noexcept {
  static const std::map<std::string_view, void*> all = {
    {"cuCtxGetCurrent", reinterpret_cast<void*>(current)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(device)},
    {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(total)},
    {"cuCtxSynchronize", reinterpret_cast<void*>(done<>)},
    {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(no_primary)},
    {"cuStreamCreate", reinterpret_cast<void*>(make_stream)},
    {"cuStreamSynchronize", reinterpret_cast<void*>(done<CUstream>)},
    {"cuMemsetD16Async", reinterpret_cast<void*>(set_16)},
    {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(send)},
    {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void*>(fetch)},
    {"cuMemAlloc_v2", reinterpret_cast<void*>(allocate)},
    {"cuMemFree_v2", reinterpret_cast<void*>(give_back)},
    {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
    {"cuMemCreate", reinterpret_cast<void*>(create)},
    {"cuMemRelease", reinterpret_cast<void*>(done<CUmemGenericAllocationHandle>)},
    {"cuMemMap", reinterpret_cast<void*>(done<CUdeviceptr, std::size_t, std::size_t,
                                              CUmemGenericAllocationHandle, unsigned long long>)},
    {"cuMemSetAccess",
     reinterpret_cast<void*>(done<CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t>)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(granularity)},
  };
  const auto found = all.find(name);
  return found != all.end() ? found->second : nullptr;
}

void found(const trace::ExecutionFault* f) noexcept {
  reported.faults.push_back({f->kind, f->launch.call, f->launch.grid_id, f->address, f->count,
                             f->location.thread[0], f->launch.kernel, f->neighbour.begin,
                             f->neighbour.bytes,
                             f->neighbour.name == nullptr ? "" : f->neighbour.name, f->space});
}
void unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  reported.plain.push_back({kernel, reason, launches});
}

const KernelChecksCore kCore{symbol,
                             [](const char*, void*) { return true; },
                             [] { return std::uint64_t{1}; },
                             found,
                             unchecked,
                             [] {}};

void begin() {
  core = &kCore;
  for (auto& [where, pool] : pools) pool.used = 0;
  where_memory_is = 0;
  is_out_of_memory = false;
  while_fetching = nullptr;
  table().leave();
  forget_all_blocks();
  forget_reports();
  forget_all_code();
  reported = {};
}

std::int16_t entry(std::uint64_t address) {
  std::int16_t value = 0;
  std::memcpy(&value, at(rewriter::entry_address(table().placed(), address)), sizeof value);
  return value;
}

} // namespace

const std::function<void()> begin_made_up_driver = begin;
const std::function<std::int16_t(std::uint64_t address)> entry_at = entry;

} // namespace gmt::interposer::kernel_checks
