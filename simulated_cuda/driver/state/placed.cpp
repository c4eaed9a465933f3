// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/state/placed.h"

#include "simulated_cuda/driver/state/block.h"
#include "simulated_cuda/driver/state/state.h"

#include <sys/mman.h>

#include <map>
#include <utility>
#include <vector>

namespace gmt::sim {
namespace {

struct Range {
  CUdeviceptr base;
  std::size_t bytes;
  std::intptr_t to_host;
};

struct Placed {
  std::vector<Range> ranges;
  CUdeviceptr next = 0;
  std::map<std::string, CUdeviceptr> variables;
};

Placed& placed() {
  static auto* const one = new Placed; // never destroyed: calls come until the end
  return *one;
}

const Range* range_of(CUdeviceptr address, std::size_t bytes) {
  for (const Range& range : placed().ranges) {
    const std::size_t offset = address - range.base;
    if (address >= range.base && offset < range.bytes && bytes <= range.bytes - offset)
      return &range;
  }
  return nullptr;
}

bool put(CUdeviceptr address, Block* block) {
  const Range* range = range_of(address, block->size);
  if (range == nullptr || state().blocks.overlaps(address, block->size)) return false;
  block->base = address;
  block->to_host = range->to_host;
  return true;
}

} // namespace

bool reserve_placed(CUdeviceptr address, std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const at = reinterpret_cast<void*>(address); // NOLINT(performance-no-int-to-ptr)
  void* const window = mmap(at, bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (window == MAP_FAILED) return false;
  void* const alias =
    window == at ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) : MAP_FAILED;
  if (alias == MAP_FAILED ||
      !state().memory.add_region(address, bytes, static_cast<std::byte*>(alias))) {
    munmap(window, bytes);
    if (alias != MAP_FAILED) munmap(alias, bytes);
    return false;
  }
  placed().ranges.push_back(
    {address, bytes, reinterpret_cast<std::intptr_t>(alias) - static_cast<std::intptr_t>(address)});
  return true;
}

void set_next_address(CUdeviceptr address) { placed().next = address; }

void set_variable_address(const std::string& name, CUdeviceptr address) {
  placed().variables[name] = address;
}

bool take_placed(Block* block) {
  const CUdeviceptr address = std::exchange(placed().next, 0);
  return address != 0 && put(address, block);
}

bool take_placed_variable(const std::string& name, Block* block) {
  if (placed().variables.empty()) return false;
  const auto found = placed().variables.find(name);
  return found != placed().variables.end() && put(found->second, block);
}

bool is_placed(CUdeviceptr address) { return range_of(address, 1) != nullptr; }

} // namespace gmt::sim
