// SPDX-License-Identifier: Apache-2.0
// See copy_use.h.

#include "analyzer/heap/copy_use.h"

#include "analyzer/heap/heap.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

struct Place {
  enum class Kind : std::uint8_t { kDevice, kPinned, kPageable };
  Kind kind = Kind::kDevice;
  int device = kNoDevice;

  bool is_host() const { return kind != Kind::kDevice; }
};

// cudaMemcpyKind as the runtime's call declared it: 1 and 0 read host memory, 2 and 0 write to it.
bool declares_device(const Event& e, bool destination) {
  const trace::Side declared = destination ? trace::destination_side(e.flags) : trace::source_side(e.flags);
  if (declared != trace::Side::kUnified) return declared != trace::Side::kHost;
  const unsigned kind = trace::declared_kind_plus_1(e.flags); // cudaMemcpyDefault (4) leaves it to the address
  return kind == 4 || kind == (destination ? 2 : 3);
}

Place place_of(const Event& e, const Heap& heap, bool destination) {
  const auto access = destination ? Touch::Access::kWrite : Touch::Access::kRead;
  for (const Touch& touch : heap.touched()) {
    if (touch.access != access) continue;
    const trace::Family family = touch.block->family;
    if (is_host_family(family)) return {.kind = Place::Kind::kPinned};
    return {.device = heap.device_of(*touch.block)};
  }
  return {.kind = declares_device(e, destination) ? Place::Kind::kDevice : Place::Kind::kPageable};
}

} // namespace

void CopyUse::add(const Event& e, const Heap& heap) {
  if (!e.succeeded() || (e.flags & (trace::kFlagNested | trace::kFlagRuntime)) != 0) return;
  const Place to = place_of(e, heap, true), from = place_of(e, heap, false);
  const bool peers = to.device != kNoDevice && from.device != kNoDevice && to.device != from.device;
  const Direction direction = from.is_host() ? (to.is_host() ? kHostToHost : kHostToDevice)
                              : to.is_host() ? kDeviceToHost
                              : peers        ? kPeer
                                             : kDeviceToDevice;
  Sum& sum = sums_[direction];
  ++sum.copies;
  const std::uint64_t bytes = trace::CopyView(e).bytes();
  sum.bytes += bytes;
  if (to.kind == Place::Kind::kPageable || from.kind == Place::Kind::kPageable) sum.pageable_bytes += bytes;
}

} // namespace gmt
