// SPDX-License-Identifier: Apache-2.0
// What is allocated at a point of the merged order of one process, and the verdict on each call
// that uses memory. Device, managed and pinned memory share one address space; registered host
// ranges and VMM reservations are layers of their own, and handles (arrays, VMM handles) have
// spaces of their own.
//
// Memory grows with live and a bounded number of freed blocks, never with events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/access.h"
#include "analyzer/heap/block.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/verdict.h"
#include "analyzer/model/event.h"

namespace gmt {

class MemoryUse;
class MemoryWatch;
struct HeapParts;

class Heap {
public:
  using ArrayPart = gmt::ArrayPart;
  static constexpr std::uint64_t kLargestElement = gmt::kLargestElement;

  Heap();
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Applies one event and checks it. Runtime-row events (kFlagRuntime) are checked, never applied.
  // The span (a copy can be wrong on both sides) and its blocks are valid until the next apply().
  std::span<const Verdict> apply(const Event& event);

  // --kernel-checks: behind each block of device memory lie bytes that are mapped and no block's.
  void expect_poison();

  // Sees each change of device memory that the next events make, and must live as long.
  void watch(MemoryWatch& watch);

  // Fetches what apply() is going to use, which is seldom in the cache: the index's entries for an
  // event some calls ahead, the block of a release that is nearer and whose entry has come.
  void expect(const Event& event) const;
  void expect_block(const Event& event) const;

  // What the last applied event used; empty for calls that were refused. Valid until the next
  // apply().
  std::span<const Access> accesses() const { return accesses_; }
  // The same of tensors, whose segments are among the above.
  std::span<const Access> tensor_accesses() const;
  const Block* find_tensor(std::uint64_t address) const; // that is alive; null if none is there
  void for_each_tensor(const std::function<void(const Block&)>& visit) const; // by address

  // Live block that contains the address (a mapping before its reservation), also a registered host
  // range.
  const Block* find_live(std::uint64_t address) const;
  // The live array behind its own handle or that of a level or plane.
  ArrayPart find_array(std::uint64_t handle) const;
  // The array that had the handle, or whose level or plane had it, if it is freed; else null.
  const Block* find_freed_array(std::uint64_t handle) const;
  // Newest freed block that contained the address and was not allocated again there.
  const Block* find_freed(std::uint64_t address) const;
  // Whether the host has memory of its own there, where a block was freed.
  bool is_host_memory(std::uint64_t address) const;
  // The same of host memory that was unregistered, where nothing is registered now.
  const Block* find_unregistered(std::uint64_t address) const;
  // All but tensors, in the order of allocation
  void for_each_live(const std::function<void(const Block&)>& visit) const;
  // Leaks too
  void for_each_ended_with_context(const std::function<void(const Block&)>& visit) const;

  std::uint64_t live_device_bytes() const;
  std::uint64_t peak_device_bytes() const;
  std::uint64_t peak_order() const;
  const MemoryUse& use() const; // sums by kind of memory, device and stack
  // Each piece of freed memory that nothing has taken again, by address, with the newest block that
  // was there. The last piece and the next may adjoin. Walks all freed blocks: not for every event.
  using VisitFreed = std::function<void(std::uint64_t begin, std::uint64_t end, const Block&)>;
  void for_each_freed(const VisitFreed& visit) const;
  // Contexts, streams, pools and captures, as of the newest event
  const CudaState& cuda() const { return cuda_; }
  bool sticky_error() const;         // a context died of an error
  std::uint16_t sticky_code() const; // 700, 719, ... of the first such error
  // Died of an error, or any did if this one is not known
  bool is_dead(std::uint16_t context) const;
  std::uint64_t unseen_allocations() const; // accepted releases of what we never saw allocated
  std::uint64_t unseen_frees() const;       // allocations on top of live blocks
  int device_of(const Block& block) const { // ordinal, -1 unknown
    if (block.device_slot == kHostSlot) return -1;
    return block.device_slot != 0 ? static_cast<int>(block.device_slot) - 1
                                  : device_of_context(block.context);
  }
  int device_of_context(std::uint16_t context) const {
    return static_cast<int>(cuda_.contexts.device_of(context));
  }
  std::uint64_t newest_order() const; // of the last applied event
  std::uint64_t last_kernel() const;  // order of the newest launch of a kernel or graph, 0 none
  // Order of the newest call that may use memory which its record does not name: a graph's launch,
  // a kernel's whose arguments were not read, any other unread call.
  std::uint64_t last_blind_call() const;
  // Of its last launch; null if all is freed
  const Block* unfreed_of_graph(std::uint64_t executable) const;
  // What the executable graph's kernel nodes run, in the order in which its graph got them. Valid
  // until the next apply().
  std::vector<const GraphWork*> kernels_of_graph(std::uint64_t executable) const;
  bool is_graph_of_capture(std::uint64_t executable) const; // not built node by node
  // Whether the work that the call gives to the stream becomes a graph instead of running.
  bool is_capturing(const Event& e, std::uint64_t stream) const {
    return cuda().captures.of(e, stream) != 0;
  }

  // Whether the kernel was ever given in this parameter the end of another argument's block, where
  // nothing lay behind that block: what lies behind it elsewhere is not meant then. Known for all
  // launches in finish() alone.
  bool takes_end(std::uint64_t function, unsigned parameter) const;
  // Of the last applied launch; null if none does
  const Access* argument_ending_at(std::uint64_t address) const;
  // Begins at most an element behind it; null if none does
  const Block* live_just_behind(std::uint64_t address) const;

private:
  std::unique_ptr<HeapParts> parts_;
  const CudaState& cuda_; // of them
  std::span<const Access> accesses_;
};

} // namespace gmt
