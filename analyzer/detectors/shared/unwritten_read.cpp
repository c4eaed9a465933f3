// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/unwritten_read.h"

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {

using trace::MemoryKind;

bool is_array(const Block& block) {
  return block.memory_kind == MemoryKind::kArray ||
         block.memory_kind == MemoryKind::kMipmappedArray;
}

bool is_private(const Block& block, const ProcessFacts& facts) {
  constexpr std::uint64_t kDeferredMapping = 0x80; // CUDA_ARRAY3D_DEFERRED_MAPPING
  switch (block.memory_kind) {
  case MemoryKind::kDevice:
  case MemoryKind::kPitched: return true;
  case MemoryKind::kStreamOrdered: return block.shape().pool == 0;
  case MemoryKind::kArray:
  case MemoryKind::kMipmappedArray:
    return !is_sparse(block) && (block.shape().flags & kDeferredMapping) == 0 &&
           // Another API's memory
           facts.api_name(block.api).find("External") == std::string_view::npos;
  default: return false;
  }
}

bool is_unshared(const Block& block, const Heap& heap, const ProcessFacts& facts) {
  return (block.flags & (kWasArgument | kWasBound | kWasExported)) == 0 &&
         is_private(block, facts) && block.allocated_at > heap.last_blind_call();
}

bool goes_to_host(const Event& copy, const Heap& heap) {
  for (const Access& access : heap.accesses()) {
    if (access.kind != Access::Kind::kWrite) continue;
    return access.block->memory_kind == MemoryKind::kPinned ||
           access.block->memory_kind == MemoryKind::kRegistered;
  }
  const trace::Side declared = declared_side(copy, Verdict::Side::kDestination);
  return declared == trace::Side::kHost || declared == trace::Side::kUnified;
}

Writer writer_of(const Block& block, const Event& copy, const Heap& heap, RunningKernels& kernels) {
  if (heap.last_kernel() > block.allocated_at) return Writer::kLaterKernel;
  return kernels.may_write(block, copy, heap) ? Writer::kEarlierKernel : Writer::kNone;
}

std::string_view what_wrote_nothing(Writer writer) {
  switch (writer) {
  case Writer::kLaterKernel:
    return "no copy, no set, and no kernel was given a pointer into the block, though one may have found it in "
           "memory";
  case Writer::kEarlierKernel:
    return "no copy and no set, and no kernel was launched since the block was allocated, though one that was "
           "launched before may still have been running, and may have found a pointer to it in memory";
  case Writer::kNone: break;
  }
  return "no copy, no set, and no kernel has run since the block was allocated";
}

Finding unwritten_read(const UnwrittenRead& read, const ProcessFacts& facts) {
  const Block& block = read.block;
  Finding f;
  f.kind = "uninitialized-read";
  f.severity = read.severity;
  f.api = read.api;
  f.message = {CallName{f.api},
               " reads ",
               format_exact_bytes(read.bytes),
               " of a block of ",
               describe_block(block, facts),
               read.missing == read.bytes
                 ? ", which nothing has written: "
                 : cat({", and nothing has written ", format_count(read.missing), " of them",
                        read.which, ": "}),
               read.why};
  if (is_array(block))
    f.advice =
      "Write the array before it is read: copy to it, or let a kernel write a surface of it.";
  else
    f.advice = {
      "Write the memory before it is read: by a copy, by a kernel, or, if 0 is right, with ",
      ApiWord{is_runtime_name(f.api), "cuMemsetD8", "cudaMemset"}, "."};
  f.bytes = read.missing;
  f.range = facts.ranges().text(facts.ranges().here());
  f.group = read.severity == Severity::kError ? "" : "note";
  f.stacks.push_back(stack_as(StackRole::kCopied, read.stack, f.api));
  f.stacks.push_back(allocation_stack(block, facts));
  return f;
}

} // namespace gmt
