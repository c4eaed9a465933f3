// SPDX-License-Identifier: Apache-2.0
// Copies, sets, launches and other uses of memory.

#include "analyzer/heap/heap_calls.h"
#include "analyzer/heap/heap_parts.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

void add_access(HeapParts& heap, const Event& e, const NamedMemory& named, Access::Kind access,
                unsigned parameter = kNoParameter) {
  if (named.region != BlockStore::kNone && is_tensor(heap.store[named.region])) {
    heap.store[named.region].freed_at = e.time & kOrderMask;
    heap.tensor_accesses.add(e, named.region, access, named.address, named.bytes, parameter);
  } else if (named.region != BlockStore::kNone) {
    heap.accesses.add(e, named.region, access, named.address, named.bytes, parameter);
  }
  if (named.block != BlockStore::kNone)
    heap.accesses.add(e, named.block, access, named.address, named.bytes, parameter);
}

// CUDA refuses what begins in no memory, but knows nothing of poison.
void check_strays(HeapParts& heap, const Event& e) {
  if (!heap.verdicts.empty()) return;
  if (e.result == cuda::CUDA_ERROR_INVALID_VALUE) heap.bounds.check_strays(e, heap.verdicts);
  else if (heap.has_poison && e.succeeded()) heap.bounds.check_poison(e, heap.verdicts);
}

// One side of a flat copy that CUDA accepted, of a program without regions in blocks: nearly all
// lie in one block, or are the host's and none of CUDA's memory. Else false, and nothing is done.
bool add_plain_side(HeapParts& heap, const Event& e, Verdict::Side side) {
  const std::uint64_t address = address_of(e, side), bytes = e.copy().bytes;
  const trace::Side declared = declared_side(e, side);
  if (declared == trace::Side::kArray || address == 0 || bytes == 0) return false;
  Block* block = heap.store.find_near(address);
  if (block == nullptr) {
    const BlockStore::Id id = heap.store.find_id(Space::kAddress, address);
    if (id == BlockStore::kNone)
      return declared == trace::Side::kHost && !heap.store.has_live(Space::kRegistered);
    block = &heap.store[id];
  }
  if (bytes > BlockStore::end_of(*block) - address) return false;
  const bool reads = side == Verdict::Side::kSource;
  heap.accesses.add_accepted(*block, reads ? Access::Kind::kRead : Access::Kind::kWrite, address,
                             bytes);
  return true;
}

[[gnu::noinline]] void add_side(HeapParts& heap, const Event& e, Verdict::Side side) {
  const bool reads = side == Verdict::Side::kSource;
  add_access(heap, e, heap.range_verdicts.check_copy_side(e, side, heap.verdicts),
             reads ? Access::Kind::kRead : Access::Kind::kWrite);
}

[[gnu::noinline]] void apply_argument(HeapParts& heap, const Event& e, Argument word) {
  const std::uint64_t address = word.address();
  const unsigned parameter = word.parameter();
  const BlockStore::Id id =
    word.is_unused() ? BlockStore::kNone : heap.store.find_id(Space::kAddress, address);
  if (id != BlockStore::kNone && !heap.user_pools.has_regions()) {
    heap.accesses.add(e, id, Access::Kind::kArgument, address, 0, parameter);
  } else if (!word.is_unused()) {
    add_access(heap, e, heap.argument_verdicts.check(e, word, id, heap.verdicts),
               Access::Kind::kArgument, parameter);
  }
  if (heap.cuda.captures.any()) heap.argument_blocks.push_back(id);
}

// Of a launch whose words need no more than to be found: nearly all are by find_near().
void add_plain_arguments(HeapParts& heap, const Event& e, Arguments words) {
  Access* next = heap.accesses.room_for(words.size());
  for (const Argument word : words) {
    const std::uint64_t address = word.address();
    if (Block* const block = heap.store.find_near(address)) {
      block->flags |= kWasArgument;
      *next++ = {.block = block,
                 .kind = Access::Kind::kArgument,
                 .parameter = static_cast<std::uint8_t>(word.parameter()),
                 .address = address};
      continue;
    }
    heap.accesses.filled_to(next);
    apply_argument(heap, e, word);
    next = heap.accesses.room_for(words.size());
  }
  heap.accesses.filled_to(next);
}

} // namespace

void apply_copy(HeapParts& heap, const Event& e) {
  heap.cuda.objects.count_work();
  const bool is_plain = e.succeeded() && !e.copy().is_shaped && !heap.user_pools.has_regions() &&
                        !heap.cuda.contexts.is_dead(e.context);
  for (const Verdict::Side side : {Verdict::Side::kDestination, Verdict::Side::kSource}) {
    if (!is_plain || !add_plain_side(heap, e, side)) add_side(heap, e, side);
  }
  check_strays(heap, e);
  if (heap.cuda.captures.any())
    heap.graphs.on_captured_use(e, GraphWork::Kind::kCopy, heap.accesses.all());
}

void apply_set(HeapParts& heap, const Event& e) {
  heap.cuda.objects.count_work();
  add_access(heap, e, heap.range_verdicts.check_set(e, heap.verdicts), Access::Kind::kWrite);
  check_strays(heap, e);
  if (heap.cuda.captures.any())
    heap.graphs.on_captured_use(e, GraphWork::Kind::kSet, heap.accesses.all());
}

void apply_use(HeapParts& heap, const Event& e) {
  const trace::UseClass use = e.use().use;
  if (e.succeeded() && !e.from_runtime) heap.cuda.objects.on_bound(e);
  if (use == trace::UseClass::kGraphNode) heap.range_verdicts.check_node(e, heap.verdicts);
  if (heap.graphs.on_use(e, heap.accesses)) return;
  if (use == trace::UseClass::kAccess && !heap.cuda.contexts.is_dead(e.context))
    heap.mappings.on_access(e);
  const NamedMemory named = heap.range_verdicts.check_use(e, heap.verdicts);
  add_access(heap, e, named, Access::Kind::kBound);
  const bool exports =
    use == trace::UseClass::kExport && e.succeeded() && named.block != BlockStore::kNone;
  if (exports && has_ranges(space_of(heap.store[named.block].memory_kind)))
    heap.store[named.block].flags |= kWasExported;
  if (heap.cuda.captures.any())
    heap.graphs.on_captured_use(e, GraphWork::Kind::kOther, heap.accesses.all());
}

void apply_launch(HeapParts& heap, const Event& e) {
  heap.cuda.objects.count_work();
  if (e.succeeded()) {
    heap.last_kernel = e.order;
    if (!e.launch().is_scanned) heap.last_blind_call = e.order;
  }
  const Arguments words = e.launch().arguments;
  const bool is_captured = heap.cuda.captures.any();
  if (!words.empty() && !heap.cuda.contexts.is_dead(e.context)) {
    const bool is_plain = e.succeeded() && !is_captured && !heap.user_pools.has_regions();
    if (is_plain) {
      add_plain_arguments(heap, e, words);
    } else {
      for (const Argument word : words) apply_argument(heap, e, word);
    }
  }
  if (!is_captured) return;
  heap.graphs.on_captured_kernel(e, heap.argument_blocks);
  heap.argument_blocks.clear();
}

} // namespace gmt
