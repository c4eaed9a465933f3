// SPDX-License-Identifier: Apache-2.0
// Follows launches and the rows that copies make of memory, see kernel_arguments.h.

#include "analyzer/coalescing/kernel_arguments.h"

#include "analyzer/coalescing/memory_access.h"
#include "analyzer/model/trace_names.h"

namespace gmt {
namespace {

using Kind = EventKind;

// The one block that a launch's pointers lead into; null if they lead into several or none.
const Access* only_argument(const Heap& heap) {
  const Access* only = nullptr;
  for (const Access& access : heap.accesses()) {
    if (access.kind != Access::Kind::kArgument) continue;
    if (only != nullptr && only->block != access.block) return nullptr;
    if (only == nullptr || only->address % kSectorBytes == 0) only = &access;
  }
  return only;
}

} // namespace

void KernelUses::follow(const Event& e, const Heap& heap, const TraceNames& names) {
  if (!e.succeeded() || e.from_runtime) return;
  if (e.kind == Kind::kLaunch) on_launch(e, heap, names);
  else if (e.kind == Kind::kCopy || e.kind == Kind::kSet) on_rows(e, heap);
}

void KernelUses::on_launch(const Event& e, const Heap& heap, const TraceNames& names) {
  if (e.is_nested) return;
  KernelUse& use = uses_[std::string(names.handle_name(e.launch().function))];
  const bool is_first = use.launches++ == 0;
  if (is_first) {
    use.first = e.stack;
    use.api = e.via != trace::kNoApi ? e.via : e.api;
  }
  const Access* only = e.launch().is_scanned ? only_argument(heap) : nullptr;
  if (is_first && only != nullptr) {
    use.memory = *only->block;
    use.memory->detail = nullptr;
    use.argument_off = only->address % kSectorBytes;
  } else if (only == nullptr ||
             (use.memory && only->block->allocated_at != use.memory->allocated_at)) {
    use.memory.reset();
  }
}

void KernelUses::on_rows(const Event& e, const Heap& heap) {
  for (const auto side : {Verdict::Side::kDestination, Verdict::Side::kSource}) {
    const Rows rows = rows_of(e, side);
    if (rows.pitch % kSectorBytes == 0 || rows.count() < 2) continue;
    for (const Access& access : heap.accesses()) {
      if (access.block->address <= rows.address &&
          rows.address - access.block->address < access.block->bytes) {
        pitches_[access.block->allocated_at] = rows.pitch;
      }
    }
  }
}

std::uint64_t KernelUses::odd_pitch(const Block& memory) const {
  const auto found = pitches_.find(memory.allocated_at);
  return found == pitches_.end() ? 0 : found->second;
}

const KernelUse* KernelUses::find(std::string_view linked) const {
  const auto found = uses_.find(std::string(linked));
  return found == uses_.end() ? nullptr : &found->second;
}

} // namespace gmt
