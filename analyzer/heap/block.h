// SPDX-License-Identifier: Apache-2.0
// One allocation from allocation to death, and what is known of it. Addresses are virtual and
// unified (UVA): device, managed and pinned memory share one address space. Of arrays and physical
// memory the address is a handle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyzer/cuda_state/life_call.h"
#include "analyzer/model/event.h"

namespace gmt {

// The newest call of the right release that failed, for a reason that is not the block.
struct RefusedFree {
  LifeCall call;
  std::uint16_t result = 0;          // 0: there was none
  bool stream_was_destroyed = false; // that it named
};

// What only some allocations have; 0 where it does not apply.
struct BlockDetail {
  std::uint64_t pitch = 0, width = 0, height = 0, depth = 0, element = 0; // width in bytes
  std::uint64_t pool = 0;
  std::uint64_t flags = 0;
  // Opens of one IPC handle, retains of one VMM handle: each needs its release
  std::uint32_t references = 1;
  StackId host_freed; // free() of registered memory, which the C library allows
  RefusedFree refused;
  // Of a mapping (VMM): allocation of the physical memory behind it, 0 unknown
  std::uint64_t physical = 0;
};

// What has happened to a block since its allocation: bits of Block::flags.
enum BlockFlag : std::uint16_t {
  kWasWritten = 1,  // by a copy or set
  kWasRead = 2,     // by a copy
  kWasArgument = 4, // a kernel was given a pointer into it
  kWasBound = 8, // to a texture, surface, tensor map or graph node, or named by a memory operation
  kWasExported = 16, // another process or API may use it
  kWasHostFreed = 32,
  kGraphRan = 64,      // graph memory that a launch allocated and nothing has freed since
  kWasTried = 128,     // a copy, set, bind or launch that CUDA refused named it
  kHadAccess = 256,    // a mapping that cuMemSetAccess has given to some device or the host
  kWasFenced = 512,    // by --guard: a kernel that uses it behind its free faults
  kIsOfCapture = 1024, // a tensor that was made while a stream captured: the graph's own
};

// The newest freed blocks are kept, to explain later mistakes with.
inline constexpr std::size_t kMaxFreedBlocks = 1'000'000;

// Physical memory and pools can be the host's as well.
inline constexpr std::uint16_t kHostSlot = 0xffff;

// In one cache line.
struct alignas(64) Block {
  enum class End : std::uint8_t {
    kAlive,
    kFreed,
    kContextEnded, // by its context's destruction or reset: still a leak, and says so
    kReallocated,  // its address was allocated again: its release went unseen
  };
  std::uint64_t address = 0; // or handle
  std::uint64_t bytes = 0;   // as requested; pitch x height x depth when pitched; 0 unknown
  std::uint64_t stream = 0;  // as the call named it
  std::uint64_t allocated_at : kOrderBits = 0; // order
  std::uint64_t flags : 16 = 0;                // BlockFlag bits
  std::uint64_t freed_at : kOrderBits = 0;     // order; of a live tensor the time of its last use
  // Ordinal + 1 of its device or kHostSlot; 0: its context's device
  std::uint64_t device_slot : 16 = 0;
  const BlockDetail* detail = nullptr; // null if the allocation has none; see shape()
  StackId allocated;
  StackId freed;                     // the release, or the call that ended its context
  std::uint16_t api = trace::kNoApi; // how it was allocated: the runtime's name if one led there
  std::uint16_t freed_api = trace::kNoApi; // the same of `freed`
  std::uint16_t context = 0;
  trace::MemoryKind memory_kind = trace::MemoryKind::kUnknown;
  End end = End::kAlive;

  const BlockDetail& shape() const;
};
static_assert(sizeof(Block) == 64);

// Counts in the device's peak.
constexpr bool is_device_kind(trace::MemoryKind memory_kind) {
  switch (memory_kind) {
  case trace::MemoryKind::kDevice:
  case trace::MemoryKind::kPitched:
  case trace::MemoryKind::kManaged:
  case trace::MemoryKind::kStreamOrdered:
  case trace::MemoryKind::kArray:
  case trace::MemoryKind::kMipmappedArray:
  case trace::MemoryKind::kVmmHandle:
  case trace::MemoryKind::kGraph: return true;
  default: return false;
  }
}

// The address of a graph's memory is known before there is memory, and behind its free.
constexpr bool has_memory(const Block& block) {
  return block.memory_kind != trace::MemoryKind::kGraph || (block.flags & kGraphRan) != 0;
}

// A variable of the program's code: looked up, never allocated.
constexpr bool is_static(trace::MemoryKind memory_kind) {
  return memory_kind == trace::MemoryKind::kModuleGlobal ||
         memory_kind == trace::MemoryKind::kManagedVariable;
}

// A block that a framework's allocator gave out inside a block of its own.
constexpr bool is_tensor(const Block& block) {
  return block.memory_kind == trace::MemoryKind::kTensor;
}

// Of a sparse array the memory is what is mapped into it (cuda.h on CUDA_ARRAY3D_SPARSE).
inline bool is_sparse(const Block& block) {
  constexpr std::uint64_t kSparse = 0x40;
  const bool array = block.memory_kind == trace::MemoryKind::kArray ||
                     block.memory_kind == trace::MemoryKind::kMipmappedArray;
  return array && block.detail != nullptr && (block.detail->flags & kSparse) != 0;
}

// A kind of memory of the device's that is known not to be the host's.
inline bool is_device_memory(const Block& block) {
  return is_device_kind(block.memory_kind) && block.device_slot != kHostSlot && !is_sparse(block);
}

inline const BlockDetail& Block::shape() const {
  static constexpr BlockDetail kNoDetail{};
  return detail != nullptr ? *detail : kNoDetail;
}

} // namespace gmt
