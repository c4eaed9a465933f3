// SPDX-License-Identifier: Apache-2.0
// What PyTorch's caching allocator says. A tensor's block is a region inside a block of the heap.
// It lies where that one does, and ends with it at the latest.

#include "analyzer/heap/heap_calls.h"
#include "analyzer/heap/heap_parts.h"

namespace gmt {
namespace {

void give_out(HeapParts& heap, const Event& e) {
  const event::Tensor& tensor = e.tensor();
  if (tensor.address == 0 || tensor.bytes == 0) return;
  Block block;
  block.address = tensor.address;
  block.bytes = tensor.bytes;
  block.stream = tensor.stream;
  block.memory_kind = trace::MemoryKind::kTensor;
  block.allocated_at = e.order & kOrderMask;
  block.freed_at = e.time & kOrderMask;
  block.allocated = e.stack;
  if (const Block* segment = heap.store.live_containing(tensor.address)) {
    block.context = segment->context;
    block.device_slot = segment->device_slot;
  }
  heap.user_pools.on_region();
  if (heap.cuda.captures.any()) {
    block.flags = kIsOfCapture;
    heap.store.use().tensors().on_captured();
  }
  heap.store.use().expect(e.stack);
  heap.store.make_live(heap.store.create(block));
}

// What is not known was given out before the trace began, or its record was lost.
void take_back(HeapParts& heap, const Event& e) {
  const BlockStore::Id id = heap.store.find_exact(Space::kSubAllocation, e.tensor().address);
  if (id != BlockStore::kNone && is_tensor(heap.store[id]))
    heap.store.retire(id, Block::End::kFreed, e);
}

} // namespace

void apply_tensor(HeapParts& heap, const Event& e) {
  if (e.tensor().op == trace::TensorOp::kGivenOut) give_out(heap, e);
  if (e.tensor().op == trace::TensorOp::kTakenBack) take_back(heap, e);
}

} // namespace gmt
