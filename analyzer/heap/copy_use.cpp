// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/copy_use.h"

#include "analyzer/heap/heap.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

struct CopySide {
  enum class Kind : std::uint8_t { kDevice, kPinned, kPageable };
  Kind kind = Kind::kDevice;
  int device = kNoDevice;

  bool is_host() const { return kind != Kind::kDevice; }
};

// cudaMemcpyKind as the runtime's call declared it: 1 and 0 read host memory, 2 and 0 write to it.
bool declares_device(const Event& e, bool destination) {
  const trace::Side declared = destination ? e.copy().destination_side : e.copy().source_side;
  if (declared != trace::Side::kUnified) return declared != trace::Side::kHost;
  // cudaMemcpyDefault (4) leaves it to the address
  const unsigned kind = e.copy().declared_kind_plus_1;
  return kind == 4 || kind == (destination ? 2 : 3);
}

CopySide side_of(const Event& e, const Heap& heap, bool destination) {
  const auto wanted = destination ? Access::Kind::kWrite : Access::Kind::kRead;
  for (const Access& access : heap.accesses()) {
    if (access.kind != wanted) continue;
    const trace::MemoryKind memory_kind = access.block->memory_kind;
    if (is_host_kind(memory_kind)) return {.kind = CopySide::Kind::kPinned};
    return {.device = heap.device_of(*access.block)};
  }
  return {.kind =
            declares_device(e, destination) ? CopySide::Kind::kDevice : CopySide::Kind::kPageable};
}

CopyUse::Direction direction_of(const CopySide& to, const CopySide& from) {
  if (from.is_host()) return to.is_host() ? CopyUse::kHostToHost : CopyUse::kHostToDevice;
  if (to.is_host()) return CopyUse::kDeviceToHost;
  const bool peers = to.device != kNoDevice && from.device != kNoDevice && to.device != from.device;
  return peers ? CopyUse::kPeer : CopyUse::kDeviceToDevice;
}

} // namespace

void CopyUse::add(const Event& e, const Heap& heap) {
  if (!e.succeeded() || e.is_nested || e.from_runtime) return;
  const CopySide to = side_of(e, heap, true), from = side_of(e, heap, false);
  Sum& sum = sums_[direction_of(to, from)];
  ++sum.copies;
  const std::uint64_t bytes = e.copy().bytes;
  sum.bytes += bytes;
  if (to.kind == CopySide::Kind::kPageable || from.kind == CopySide::Kind::kPageable)
    sum.pageable_bytes += bytes;
}

} // namespace gmt
