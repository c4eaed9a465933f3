// SPDX-License-Identifier: Apache-2.0
// What one allocation is, and the ordered table of all of them: the driver's answer to "what lies
// at this address". Invariant: live blocks do not overlap; `size` is the size the program asked
// for, to the byte, because the real driver refuses the first byte past it even inside the 512-byte
// granule.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>

namespace gmt::executor {
class Memory;
}

namespace gmt::sim {

struct Context;
struct Device;
struct Library;
struct Pool;

enum class BlockKind : std::uint8_t {
  kDevice,     // cuMemAlloc, cuMemAllocPitch
  kPool,       // cuMemAllocAsync, cuMemAllocFromPoolAsync
  kGraph,      // made by an allocation node
  kGlobal,     // a variable of a module
  kVmm,        // a mapping of a cuMemCreate handle
  kIpc,        // another process's memory, opened by cuIpcOpenMemHandle
  kPoolImport, // a pointer of another process's pool
  kExternal,   // a buffer of imported external memory
  kManaged,
  kPinned,
  kRegistered,
};

// A flag of managed memory: a __managed__ variable, which lives as long as its library.
inline constexpr unsigned kStaticVariable = 0x80000000u;

struct Block {
  CUdeviceptr base = 0;
  std::size_t size = 0; // as requested
  // Added to a device address gives the address the driver itself reads and writes
  std::intptr_t to_host = 0;
  BlockKind kind = BlockKind::kDevice;
  std::uint64_t devices = ~std::uint64_t{0}; // kVmm: a bit for each that cuMemSetAccess let use it
  unsigned flags = 0;
  Context* context = nullptr;
  Device* device = nullptr;
  Pool* pool = nullptr;
  Library* library = nullptr; // whose variable it is
  std::uint64_t handle = 0;   // kVmm: the cuMemCreate handle; kIpc: what was opened
  std::size_t opened = 0;     // kIpc: how often cuIpcOpenMemHandle gave it out
  std::uint64_t id = 0;
  int sync_memops = 0;
  // Of managed memory: what cuMemAdvise and cuMemPrefetchAsync said last, of any part of it
  bool is_read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, 0};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, 0};
  std::uint64_t accessed_by = 0; // a bit for each device; the highest: the host
  bool is_written = false;       // all of it counts as initialised

  bool contains(CUdeviceptr address) const { return address - base < size; }
  bool is_accessible() const { return devices != 0; }
  // Mappings and pools have lists of the devices that copies and sets may use them from.
  bool is_listed_for(int ordinal) const;
  // Memory that only the device can use: the program's own loads and stores to it fault.
  bool device_only() const { return kind < BlockKind::kManaged; }
};

class BlockTable {
public:
  // The executor's memory hears of each block.
  BlockTable(std::pmr::memory_resource* nodes, executor::Memory& memory)
      : blocks_(nodes), memory_(memory) {}

  Block& add(Block block);
  void remove(CUdeviceptr base);

  Block* at_base(CUdeviceptr base);
  Block* containing(CUdeviceptr address);
  bool overlaps(CUdeviceptr address, std::size_t bytes);
  // The block that the address lies in or, among all, is closest to; nullptr if there is none.
  const Block* nearest(CUdeviceptr address) const;

  // The driver's own view of [address, address + bytes), or nullptr if any byte of it is in no live
  // block.
  std::byte* view(CUdeviceptr address, std::size_t bytes);

  // Visits the blocks that have a byte in common with the range.
  template <class Visit>
  void for_each_in(CUdeviceptr address, std::size_t bytes, Visit visit) {
    if (Block* first = containing(address)) visit(*first);
    for (auto it = blocks_.upper_bound(address); it != blocks_.end() && it->first - address < bytes;
         ++it)
      visit(it->second);
  }

  template <class Visit>
  void for_each(Visit visit) {
    for (auto it = blocks_.begin(); it != blocks_.end();) {
      auto next = std::next(it); // visit may remove the block it gets
      visit(it->second);
      it = next;
    }
  }

private:
  std::pmr::map<CUdeviceptr, Block> blocks_;
  executor::Memory& memory_;
  std::uint64_t next_id_ = 1;
};

} // namespace gmt::sim
