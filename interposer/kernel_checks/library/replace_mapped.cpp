// SPDX-License-Identifier: Apache-2.0
// Addresses that the program reserves, and memory that it maps there; memory of the host that it
// registers. What is mapped or registered counts as right: two such pieces may be one array. Mapped
// pieces side by side have common bounds (mapped_runs.cpp). What PyTorch maps it divides into
// tensors (mapped_regions.cpp). What is reserved and not mapped, or no
// longer, would fault, and so would what is no longer registered: a checked access there is named
// and left out.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/mapped_regions.h"
#include "interposer/kernel_checks/library/mapped_runs.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

using Ranges = std::map<std::uint64_t, std::uint64_t>;    // begin and end
constinit Lasting<Ranges> registered_ranges;              // with the lock, as the next
constinit Lasting<Ranges> reserved_ranges, mapped_ranges; // by the program
constinit Lasting<Ranges> released_ranges;                // was the program's, and is not mapped
// Whose entries say that an access would fault: that was registered; freed managed memory
constinit Lasting<Ranges> unregistered, freed_ranges;
constinit std::atomic<bool> has_gone{false}; // one of them may have some
constexpr std::size_t kMostReleased = 4096;

void forget_overlaps(Ranges& ranges, std::uint64_t begin, std::uint64_t end) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin()) --at;
  while (at != ranges.end() && at->first < end) at = at->second > begin ? ranges.erase(at) : ++at;
}

// What is left and right of it stays.
void cut(Ranges& ranges, std::uint64_t begin, std::uint64_t end) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin()) --at;
  while (at != ranges.end() && at->first < end) {
    const auto [left, right] = *at;
    if (right <= begin) {
      ++at;
      continue;
    }
    at = ranges.erase(at);
    if (left < begin) ranges[left] = begin;
    if (right > end) ranges[end] = right;
  }
}

void remember_released(std::uint64_t begin, std::uint64_t end) noexcept {
  const Locked lock;
  forget_overlaps(*released_ranges, begin, end);
  if ((*released_ranges).size() < kMostReleased) (*released_ranges)[begin] = end;
}

// Where the granules of nothing else are.
rewriter::Block inner(std::uint64_t begin, std::size_t bytes) noexcept {
  return {(begin + kGranule - 1) / kGranule * kGranule, (begin + bytes) / kGranule * kGranule};
}

// An access there would fault.
void take_away(std::uint64_t begin, std::size_t bytes) noexcept {
  const rewriter::Block block = inner(begin, bytes);
  for_each_memory([&block](Table& one) {
    if (!one.covers(block.begin, block.end)) return;
    const Work work(one.context());
    if (!work.ready()) return;
    note_ranges_to_forget();
    if (!one.write_unmapped(block)) one.write_unknown(block);
  });
}

// Every access there is right.
void give(std::uint64_t begin, std::size_t bytes) noexcept {
  {
    const Locked lock;
    forget_overlaps(*released_ranges, begin, begin + bytes);
    (*unregistered).erase(begin);
  }
  forget_range(begin, bytes);
}

CUresult reserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                 unsigned long long flags) noexcept {
  const int result = driver.reserve(address, bytes, alignment, wanted, flags);
  if (result != CUDA_SUCCESS || address == nullptr) return static_cast<CUresult>(result);
  {
    const Locked lock;
    (*reserved_ranges)[*address] = *address + bytes;
  }
  take_away(*address, bytes);
  addresses_reserved(*address, bytes);
  return CUDA_SUCCESS;
}

CUresult free_addresses(CUdeviceptr address, std::size_t bytes) noexcept {
  addresses_given_back(address, bytes);
  const int result = driver.give_addresses_back(address, bytes);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  {
    const Locked lock;
    forget_overlaps(*reserved_ranges, address, address + bytes);
  }
  give(address, bytes);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
             CUmemGenericAllocationHandle memory, unsigned long long flags) noexcept {
  const int result = driver.map(address, bytes, offset, memory, flags);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  {
    const Locked lock;
    (*mapped_ranges)[address] = address + bytes;
  }
  give(address, bytes);
  add_to_runs(address, address + bytes);
  piece_mapped(address, bytes);
  return CUDA_SUCCESS;
}

// Entries change first: when the driver is done, another thread may map something there.
CUresult unmap(CUdeviceptr address, std::size_t bytes) noexcept {
  piece_unmapped(address, bytes);
  take_from_runs(address, address + bytes);
  take_away(address, bytes);
  remember_released(address, address + bytes);
  const int result = own<"cuMemUnmap", CUdeviceptr, std::size_t>(address, bytes);
  if (result != CUDA_SUCCESS) {
    give(address, bytes);
    return static_cast<CUresult>(result);
  }
  const Locked lock;
  forget_overlaps(*mapped_ranges, address, address + bytes);
  return CUDA_SUCCESS;
}

// ---- memory of the host

template <Name kName>
CUresult register_host(void* memory, std::size_t bytes, unsigned flags) noexcept {
  const int result = own<kName, void*, std::size_t, unsigned>(memory, bytes, flags);
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  if (result != CUDA_SUCCESS || !is_ordinary(memory, bytes)) return static_cast<CUresult>(result);
  give(begin, bytes);
  const Locked lock;
  (*registered_ranges)[begin] = begin + bytes;
  return CUDA_SUCCESS;
}

std::uint64_t take_registered(std::uint64_t begin) noexcept {
  const Locked lock;
  const auto found = (*registered_ranges).find(begin);
  if (found == (*registered_ranges).end()) return begin;
  const std::uint64_t end = found->second;
  (*registered_ranges).erase(found);
  return end;
}

// Whether the device reads the host's memory without that.
bool reads_pageable_memory() noexcept {
  int reads = 1;
  return driver.attribute(&reads, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, table().device()) !=
           0 ||
         reads != 0;
}

bool can_host_read(std::uint64_t address) noexcept {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1}; // NOLINT: only read
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

// The driver's pieces of memory are no smaller than the step.
bool can_host_read(std::uint64_t begin, std::uint64_t end) noexcept {
  constexpr std::uint64_t kStep = std::uint64_t{2} << 20;
  for (std::uint64_t at = begin; at < end; at += kStep) {
    if (!can_host_read(at)) return false;
  }
  return can_host_read(end - 1);
}

// The driver waits for kernels that use it, so that its entries change behind the call.
CUresult unregister_host(void* memory) noexcept {
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  const int result = own<"cuMemHostUnregister", void*>(memory);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  const std::uint64_t end = take_registered(begin);
  if (end == begin || reads_pageable_memory()) return CUDA_SUCCESS;
  {
    const Locked lock;
    if ((*unregistered).size() == kMostReleased) return CUDA_SUCCESS;
    has_gone.store(true);
    std::uint64_t& known = (*unregistered)[begin];
    known = std::max(known, end);
  }
  take_away(begin, end - begin);
  remember_released(begin, end);
  return CUDA_SUCCESS;
}

} // namespace

// Before the driver frees it, as the next memory may be there then. What rests would hide mistakes
// of the host, which end the program today. The driver may wait for kernels of other contexts.
bool take_away_freed(std::uint64_t begin, std::size_t bytes) noexcept {
  if (reads_pageable_memory() || may_any_run()) return false;
  {
    const Locked lock;
    if ((*freed_ranges).size() >= kMostReleased) return false;
    has_gone.store(true);
    (*freed_ranges)[begin] = begin + bytes;
  }
  take_away(begin, bytes);
  remember_released(begin, begin + bytes);
  return true;
}

void give_freed(std::uint64_t begin, std::size_t bytes) noexcept { give(begin, bytes); }

void addresses_given_out(std::uint64_t begin, std::size_t bytes) noexcept {
  if (!has_gone.load(std::memory_order_relaxed)) return;
  const Locked lock;
  cut(*freed_ranges, begin, begin + bytes);
  cut(*unregistered, begin, begin + bytes);
}

void forget_freed() noexcept {
  if (!has_gone.load(std::memory_order_relaxed)) return;
  Ranges gone;
  {
    const Locked lock;
    gone.swap(*freed_ranges);
  }
  for (const auto& [begin, end] : gone) give(begin, end - begin);
}

// Changes that come meanwhile write into the table themselves, behind or before: what is no longer
// so when all is written counts as right.
void write_reserved(Table& table) noexcept {
  Ranges before;
  {
    const Locked lock;
    before = *reserved_ranges;
  }
  const Work work(table.context());
  if (before.empty() || !work.ready()) return;
  const auto for_each = [&table](const Ranges& ranges, auto write) {
    for (const auto& [begin, end] : ranges) {
      const rewriter::Block block = inner(begin, end - begin);
      if (table.covers(block.begin, block.end)) write(block);
    }
  };
  note_ranges_to_forget();
  for_each(before, [&table](const rewriter::Block& block) { table.write_unmapped(block); });
  Ranges right;
  {
    const Locked lock;
    right = *mapped_ranges;
    for (const auto& [begin, end] : before) {
      const auto now = (*reserved_ranges).find(begin);
      if (now == (*reserved_ranges).end() || now->second != end) right[begin] = end;
    }
  }
  for_each(right, [&table](const rewriter::Block& block) { table.write_mapped(block); });
  write_runs(table);
}

bool was_released(std::uint64_t address) noexcept {
  const Locked lock;
  const Ranges& all = *released_ranges;
  const auto behind = all.upper_bound(address);
  return behind != all.begin() && std::prev(behind)->second > address;
}

void forget_unmapped_host() noexcept {
  forget_freed();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gone;
  {
    const Locked lock;
    for (const auto& [begin, end] : *unregistered) {
      if (!can_host_read(begin, end)) gone.emplace_back(begin, end);
    }
  }
  for (const auto& [begin, end] : gone) give(begin, end - begin);
}

void forget_released() noexcept {
  forget_mapped_regions();
  const Locked lock;
  (*released_ranges).clear();
  (*unregistered).clear();
  (*freed_ranges).clear();
}

void abandon_mapped() noexcept {
  abandon_mapped_regions();
  abandon_runs();
  registered_ranges.begin_anew();
  reserved_ranges.begin_anew();
  mapped_ranges.begin_anew();
  released_ranges.begin_anew();
  unregistered.begin_anew();
  freed_ranges.begin_anew();
}

// Variables are placed at their first use, if modules load lazily, and memory of graphics when it
// is mapped.
template <Name kName, class... Args> struct ForgetsFreed {
  static CUresult call(Args... args) noexcept {
    forget_freed();
    return static_cast<CUresult>(own<kName, Args...>(args...));
  }
};
template <Name kName, class... Args> void put_forgets() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&ForgetsFreed<kName, Args...>::call));
}

void replace_mapped() noexcept {
  put_forgets<"cuModuleGetGlobal_v2", CUdeviceptr*, std::size_t*, CUmodule, const char*>();
  put_forgets<"cuLibraryGetGlobal", CUdeviceptr*, std::size_t*, CUlibrary, const char*>();
  put_forgets<"cuLibraryGetManaged", CUdeviceptr*, std::size_t*, CUlibrary, const char*>();
  put_forgets<"cuGraphicsResourceGetMappedPointer_v2", CUdeviceptr*, std::size_t*,
              CUgraphicsResource>();
  replace("cuMemAddressReserve", reinterpret_cast<void*>(&reserve));
  replace("cuMemAddressFree", reinterpret_cast<void*>(&free_addresses));
  replace("cuMemMap", reinterpret_cast<void*>(&map));
  replace("cuMemUnmap", reinterpret_cast<void*>(&unmap));
#define PUT(function, symbol) replace(symbol, reinterpret_cast<void*>(&function<symbol>))
  PUT(register_host, "cuMemHostRegister");
  PUT(register_host, "cuMemHostRegister_v2");
#undef PUT
  replace("cuMemHostUnregister", reinterpret_cast<void*>(&unregister_host));
}

} // namespace gmt::interposer::kernel_checks
