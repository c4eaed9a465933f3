// SPDX-License-Identifier: Apache-2.0
// The mappings behind mapping.h. Called with the driver lock held.
// Invariant: what is unmapped is exactly what was mapped, found again from the block's own base and
// size.
#include "simulated_cuda/driver/state/mapping.h"

#include "simulated_cuda/driver/state/state.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace gmt::sim {
namespace {

constexpr std::size_t kMostGuards = 8192; // of two mappings each; Linux allows 65,530
std::size_t behind_guards = 0;            // blocks that are alive

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Freed host memory whose addresses are not handed out again yet, oldest first from `oldest` on. It
// is no memory any more, and costs a mapping each at most.
struct Rest {
  void* memory;
  std::size_t bytes;
};
constexpr std::size_t kMostRestingBytes = std::size_t{1} << 30; // of address space
std::array<Rest, 1024> resting;
std::size_t oldest = 0, resting_count = 0, resting_bytes = 0;

// A hole in a mapping makes it two, of which there may be too many.
void unmap_now(void* memory, std::size_t bytes) {
  if (munmap(memory, bytes) != 0) madvise(memory, bytes, MADV_DONTNEED);
}

void release_oldest() {
  unmap_now(resting[oldest].memory, resting[oldest].bytes);
  resting_bytes -= resting[oldest].bytes;
  oldest = (oldest + 1) % resting.size();
  --resting_count;
}

// A foreign range starts inside its first page, as far in as its offset in the file.
std::size_t lead_of(CUdeviceptr base) { return base % page_size(); }

} // namespace

void* map_host_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kAnonymous, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_host_memory(void* memory, std::size_t bytes) {
  const bool may_rest = state().settings.resting_bytes != 0 && bytes <= kMostRestingBytes;
  if (!may_rest || mmap(memory, bytes, PROT_NONE, kAnonymous | MAP_FIXED, -1, 0) == MAP_FAILED) {
    unmap_now(memory, bytes);
    return;
  }
  while (resting_count == resting.size() || resting_bytes + bytes > kMostRestingBytes)
    release_oldest();
  resting[(oldest + resting_count++) % resting.size()] = {memory, bytes};
  resting_bytes += bytes;
}

void* map_behind_guard(std::size_t bytes) {
  const std::size_t guard = page_size();
  if (bytes > SIZE_MAX - guard) return nullptr;
  auto* all = static_cast<std::byte*>(map_host_memory(guard + bytes));
  if (all == nullptr) return nullptr;
  if (behind_guards++ < kMostGuards) mprotect(all, guard, PROT_NONE);
  return all + guard;
}

void unmap_behind_guard(void* memory, std::size_t bytes) {
  const std::size_t guard = page_size();
  --behind_guards;
  unmap_host_memory(static_cast<std::byte*>(memory) - guard, guard + bytes);
}

bool map_foreign(int fd, off_t offset, std::size_t bytes, Block* block) {
  const std::size_t lead = static_cast<std::size_t>(offset) % page_size();
  void* window = mmap(nullptr, lead + bytes, PROT_NONE, kAnonymous, -1, 0);
  if (window == MAP_FAILED) return false;
  void* alias = mmap(nullptr, lead + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     offset - static_cast<off_t>(lead));
  if (alias == MAP_FAILED) {
    munmap(window, lead + bytes);
    return false;
  }
  block->base = reinterpret_cast<CUdeviceptr>(window) + lead;
  block->size = bytes;
  block->to_host = reinterpret_cast<std::intptr_t>(alias) - reinterpret_cast<std::intptr_t>(window);
  return true;
}

void unmap_foreign(const Block& block) {
  const std::size_t lead = lead_of(block.base);
  const CUdeviceptr window = block.base - lead;
  munmap(reinterpret_cast<void*>(window), lead + block.size);
  munmap(reinterpret_cast<void*>(static_cast<std::intptr_t>(window) + block.to_host),
         lead + block.size);
}

bool holds(int fd, std::size_t bytes) {
  struct stat status{};
  return fstat(fd, &status) == 0 && status.st_size >= 0 &&
         static_cast<std::size_t>(status.st_size) >= bytes;
}

} // namespace gmt::sim
