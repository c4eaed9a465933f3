// SPDX-License-Identifier: Apache-2.0

#include "analyzer/heap/verdicts/release_verdicts.h"

#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;

// Codes of a refused release that say nothing about its address: no device, no or a lost context
// (the runtime retries), a call inside a host callback, capture rules. To a handle of an array that
// is gone the driver says that its context is (709, measured).
bool says_nothing_about_address(std::uint16_t result, FreeFunction function) {
  const bool array =
    function == FreeFunction::kArrayDestroy || function == FreeFunction::kMipmappedArrayDestroy;
  switch (result) {
  case cuda::CUDA_ERROR_OUT_OF_MEMORY:
  case cuda::CUDA_ERROR_NOT_INITIALIZED:
  case cuda::CUDA_ERROR_DEINITIALIZED:
  case cuda::CUDA_ERROR_NO_DEVICE:
  case cuda::CUDA_ERROR_INVALID_DEVICE:
  case cuda::CUDA_ERROR_INVALID_CONTEXT:
  case cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED: return !array;
  case cuda::CUDA_ERROR_NOT_PERMITTED: return true;
  default: break;
  }
  const bool of_capture = result >= cuda::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                          result <= cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  return of_capture || is_sticky(result);
}

} // namespace

void ReleaseVerdicts::check_refused(const Event& e, CallVerdicts& verdicts) const {
  const event::Free& free = e.free();
  const std::uint64_t address = free.address;
  const FreeFunction function = free.function;
  if (contexts_.is_dead(e.context) || says_nothing_about_address(e.result, function)) return;
  if (function == FreeFunction::kUnknown || function == FreeFunction::kUnmapGraphics) return;
  const Space home = space_of(function);

  if (const BlockStore::Id id = store_.find_exact(home, address); id != BlockStore::kNone) {
    const Block& block = store_[id];
    if (!release_fits(function, block.memory_kind)) {
      verdicts.add(
        {.kind = Verdict::Kind::kMismatchedFree, .block = &block, .range_begin = address});
    }
    return; // the right function on a live block was refused for another reason: an api-error
  }
  for (const Space space : kAllSpaces) {
    if (space == home) continue;
    if (const BlockStore::Id id = store_.find_exact(space, address); id != BlockStore::kNone) {
      return verdicts.add(
        {.kind = Verdict::Kind::kMismatchedFree, .block = &store_[id], .range_begin = address});
    }
  }
  if (has_ranges(home)) {
    if (const Block* block = store_.live_containing(address)) {
      return verdicts.add({.kind = Verdict::Kind::kInvalidFreeInside,
                           .block = block,
                           .offset = address - block->address,
                           .range_begin = address});
    }
  }
  check_freed_address(e, home, verdicts);
}

void ReleaseVerdicts::check_in_flight(const Event& e, CallVerdicts& verdicts) const {
  const event::Free& free = e.free();
  const Space home = space_of(free.function);
  if (!e.in_flight() || contexts_.is_dead(e.context)) return;
  if (store_.find_exact(home, free.address) != BlockStore::kNone) return;
  if (has_ranges(home) && store_.live_containing(free.address) != nullptr) return;
  const Block* dead = store_.find_dead(home, free.address);
  if (dead == nullptr || dead->address != free.address || dead->end != Block::End::kFreed) return;
  if (dead->memory_kind == MemoryKind::kGraph) return; // every launch allocates it again
  verdicts.add({.kind = Verdict::Kind::kDoubleFree, .block = dead, .range_begin = free.address});
}

// Nothing live is there: freed, ended with its context, or never seen.
void ReleaseVerdicts::check_freed_address(const Event& e, Space home,
                                          CallVerdicts& verdicts) const {
  const std::uint64_t address = e.free().address;
  const Block* inside = nullptr;
  for (const Space space : kAllSpaces) {
    // A range that was unregistered is ordinary host memory: only unregistering it again is a
    // double free.
    if (space != home && space == Space::kRegistered) continue;
    const Block* dead = store_.find_dead(space, address);
    if (dead == nullptr) continue;
    const Block& block = *dead;
    const bool ended = block.end == Block::End::kContextEnded;
    if (block.address == address || ended) {
      return verdicts.add(
        {.kind = ended ? Verdict::Kind::kInvalidFreeEnded : Verdict::Kind::kDoubleFree,
         .block = &block,
         .offset = address - block.address,
         .range_begin = address});
    }
    if (inside == nullptr) inside = &block;
  }
  verdicts.add({.kind = Verdict::Kind::kInvalidFreeUnknown,
                .block = inside,
                .offset = inside != nullptr ? address - inside->address : 0,
                .range_begin = address});
}

void ReleaseVerdicts::check_host_free(const Event& e, CallVerdicts& verdicts) const {
  const std::uint64_t address = e.free().address;
  const Block* block = store_.live_containing(address);
  if (block == nullptr || block->memory_kind == MemoryKind::kVmmReservation) return;
  const bool base = block->address == address;
  // Inside a registered range it may be a block of its own.
  if (block->memory_kind == MemoryKind::kRegistered) return;
  verdicts.add({.kind = base ? Verdict::Kind::kMismatchedFree : Verdict::Kind::kInvalidFreeInside,
                .block = block,
                .offset = address - block->address,
                .range_begin = address});
}

} // namespace gmt
