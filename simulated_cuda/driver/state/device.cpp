// SPDX-License-Identifier: Apache-2.0
// Sets up and hands out the memory of a simulated device.
// The memfd is mapped read-write for the driver; the window the program sees is a reservation
// without access. Large releases give their pages back to the host, so a program that cycles
// through memory stays small.
#include "simulated_cuda/driver/state/device.h"

#include "simulated_cuda/common/memory_file.h"
#include "simulated_cuda/driver/state/placed.h"
#include "simulated_cuda/driver/state/settings.h"
#include "simulated_cuda/driver/state/state.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>

namespace gmt::sim {
namespace {

constexpr std::size_t kLeastAlignment = std::size_t{2} << 20;
constexpr std::size_t kPageReturnBytes = std::size_t{1} << 20;
// An address is twice its offset in the arena: half of the addresses are gaps.
constexpr std::size_t kWithGaps = 2;
constexpr std::size_t kMostResting = 4096, kRestingShare = 8;

// While a small block rests, another one needs pages of the host that nothing has used yet, which
// costs time. Of a large one the pages go back to the host at once.
std::size_t cost_of_rest(std::size_t bytes) {
  constexpr std::size_t kOfLarge = std::size_t{64} << 10;
  return bytes < kPageReturnBytes ? round_up(bytes, kGranule) : kOfLarge;
}

// So that no multiple of a power of two as large as this lies inside of a window.
std::size_t alignment_of(std::size_t bytes) {
  return std::max(kLeastAlignment, std::bit_ceil(bytes));
}

std::byte* map(std::size_t bytes, int protection, int flags, int fd) {
  void* memory = mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, fd, 0);
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  std::perror(
    "gpumemtrace: simulated device: cannot reserve address space (see GPUMEMTRACE_SIM_MEMORY)");
  return nullptr;
}

} // namespace

Device::Device(int ordinal_, const Settings& settings, std::pmr::memory_resource* nodes)
    : ordinal(ordinal_), arena(settings.memory_bytes, nodes),
      stretch(settings.gaps != 0 ? kWithGaps : 1), most_resting_cost(settings.resting_bytes),
      default_pool(std::make_unique<Pool>()) {
  if (settings.others_bytes != 0) arena.take(settings.others_bytes, kGranule);
  default_pool->device = this;
  default_pool->is_default = true;
  default_pool->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  default_pool->props.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  current_pool = default_pool.get();
}

CUresult Device::map_memory() {
  const std::size_t bytes = stretch * arena.capacity();
  memory_fd = memory_file("gpumemtrace-simulated-device", bytes);
  const bool is_nameless = memory_fd < 0 && errno == EFBIG;
  if (memory_fd < 0 && !is_nameless) {
    std::perror("gpumemtrace: simulated device: memfd");
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  alias =
    map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (is_nameless ? MAP_ANONYMOUS : 0), memory_fd);
  if (alias == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  madvise(alias, bytes, MADV_DONTDUMP);
  const std::size_t alignment = alignment_of(bytes);
  reservation = map(bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (reservation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  window = round_up(reinterpret_cast<CUdeviceptr>(reservation), alignment);
  return state().memory.add_region(window, bytes, alias) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

Device::~Device() {
  const std::size_t bytes = stretch * arena.capacity();
  if (window != 0) state().memory.remove_region(window);
  if (memory_fd >= 0) close(memory_fd);
  if (alias != nullptr) munmap(alias, bytes);
  if (reservation != nullptr) munmap(reservation, bytes + alignment_of(bytes));
}

bool Device::map_at(void* target, CUdeviceptr address, std::size_t bytes) const {
  const std::size_t offset = offset_of(address);
  constexpr int kFlags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  if (memory_fd >= 0)
    return mmap(target, bytes, PROT_READ | PROT_WRITE, kFlags, memory_fd,
                static_cast<off_t>(offset)) != MAP_FAILED;
  // Shared memory whose old size is 0 stays where it is, and is mapped once more
  return mremap(alias + offset, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) != MAP_FAILED;
}

CUdeviceptr Device::take(std::size_t bytes, std::size_t alignment) {
  auto offset = arena.take(bytes, alignment);
  if (!offset && resting_bytes != 0) {
    while (!resting.empty()) release_oldest();
    offset = arena.take(bytes, alignment);
  }
  if (!offset) return 0;
  const CUdeviceptr address = window + stretch * *offset;
  // What was freed here before is no neighbour of the new block.
  state().memory.forget(address + bytes, round_up(bytes, kGranule) - bytes + kGranule);
  return address;
}

void Device::give(CUdeviceptr address, std::size_t bytes) {
  if (is_placed(address)) return;
  const std::size_t offset = offset_of(address);
  resting.push_back({offset / stretch, bytes});
  resting_bytes += round_up(bytes, kGranule);
  resting_cost += cost_of_rest(bytes);
  const std::size_t least = most_resting_cost == 0 ? 0 : 1; // the last one rests, however large
  while (resting.size() > least && rests_too_much()) release_oldest();
  if (bytes < kPageReturnBytes) return;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t first = round_up(offset, page);
  const std::size_t last = (offset + bytes) / page * page;
  if (last > first) madvise(alias + first, last - first, MADV_REMOVE);
}

bool Device::rests_too_much() const {
  return resting.size() > kMostResting || resting_cost > most_resting_cost ||
         resting_bytes > arena.capacity() / kRestingShare;
}

void Device::release_oldest() {
  const Rest oldest = resting.front();
  resting.pop_front();
  resting_cost -= cost_of_rest(oldest.bytes);
  resting_bytes -= round_up(oldest.bytes, kGranule);
  arena.give(oldest.offset, oldest.bytes);
}

} // namespace gmt::sim
