// SPDX-License-Identifier: Apache-2.0
// Verdicts: what a refused release means (in order) and whether the range of a copy, set or use
// lies in living memory. Changes nothing in the heap. Also what to fetch for it ahead of time.
//
// Host memory is judged with care: once freed or unregistered, its addresses may belong to malloc again, so
// only a call that CUDA refused is called a use after free there. (Kernels are arguments.cpp's.)

#include <algorithm>

#include "analyzer/heap/heap_state.h"
#include "trace/cuda_results.h"

namespace gmt {
namespace {

using trace::Family;
using trace::FreeFunction;

// Codes of a refused release that say nothing about its address: no device, no or a lost context (the runtime
// retries), a call inside a host callback, capture rules. To a handle of an array that is gone the driver
// says that its context is (709, measured).
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
  default: return (result >= cuda::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= cuda::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) || is_sticky(result);
  }
}

bool is_pinned_or_managed(Family family) { return family == Family::kPinned || family == Family::kManaged; }

// The words of a call that may be addresses. Of all calls but launches the first two, without a look at the
// kind: what is fetched in vain costs less than a branch that nobody can predict.
std::span<const std::uint64_t> likely_addresses(const Event& e) {
  if (e.kind == trace::Kind::kLaunch) return trace::LaunchView(e).arguments();
  return e.payload.first(trace::CopyWord::source + 1);
}

} // namespace

const Block* Heap::State::live_containing(std::uint64_t address) {
  for (const Space space : {Space::kAddress, Space::kRegistered, Space::kReservation}) {
    if (const auto range = store.find(space, address)) return &store[range.value];
  }
  return nullptr;
}

void Heap::State::judge_refused_free(const Event& e) {
  const trace::FreeView free(e);
  const std::uint64_t address = free.address();
  const FreeFunction function = free.function();
  if (is_dead(e.context) || says_nothing_about_address(e.result, function)) return;
  if (function == FreeFunction::kUnknown || function == FreeFunction::kUnmapGraphics) return;
  const Space home = space_of(function);

  if (const Id id = store.find_exact(home, address); id != kNone) {
    const Block& block = store[id];
    if (!release_fits(function, block.family)) {
      add({.verdict = Verdict::kMismatchedFree, .block = &block, .range_begin = address});
    }
    return; // the right function on a live block was refused for another reason: an api-error
  }
  for (const Space space : kAllSpaces) {
    if (space == home) continue;
    if (const Id id = store.find_exact(space, address); id != kNone) {
      return add({.verdict = Verdict::kMismatchedFree, .block = &store[id], .range_begin = address});
    }
  }
  if (has_ranges(home)) {
    if (const Block* block = live_containing(address)) {
      return add({.verdict = Verdict::kInvalidFreeInside,
                  .block = block,
                  .offset = address - block->address,
                  .range_begin = address});
    }
  }
  judge_freed_address(e, home);
}

// Nothing live is there: freed, ended with its context, or never seen.
void Heap::State::judge_freed_address(const Event& e, Space home) {
  const std::uint64_t address = trace::FreeView(e).address();
  const Block* inside = nullptr;
  for (const Space space : kAllSpaces) {
    // A range that was unregistered is ordinary host memory: only unregistering it again is a double free.
    if (space != home && space == Space::kRegistered) continue;
    const Block* dead = store.find_dead(space, address);
    if (dead == nullptr) continue;
    const Block& block = *dead;
    const bool ended = block.end == Block::End::kContextEnded;
    if (block.address == address || ended) {
      return add({.verdict = ended ? Verdict::kInvalidFreeEnded : Verdict::kDoubleFree,
                  .block = &block,
                  .offset = address - block.address,
                  .range_begin = address});
    }
    if (inside == nullptr) inside = &block;
  }
  add({.verdict = Verdict::kInvalidFreeUnknown,
       .block = inside,
       .offset = inside != nullptr ? address - inside->address : 0,
       .range_begin = address});
}

// free() of the C library. Judged by birth alone, whatever it does afterwards (glibc may abort); most of what
// it frees is none of CUDA's business. Registered memory is the C library's own: what is freed there stays
// registered, which only its end can make a mistake.
void Heap::State::judge_host_free(const Event& e) {
  const std::uint64_t address = trace::FreeView(e).address();
  if (const Id id = store.find_exact(Space::kRegistered, address); id != kNone) {
    store[id].marks |= kWasHostFreed;
    store.detail_of(store[id]).host_freed = e.stack;
    return;
  }
  const Block* block = live_containing(address);
  if (block == nullptr || block->family == Family::kVmmReservation) return;
  const bool base = block->address == address;
  // Inside a registered range it may be a block of its own.
  if (block->family == Family::kRegistered) return;
  add({.verdict = base ? Verdict::kMismatchedFree : Verdict::kInvalidFreeInside,
       .block = block,
       .offset = address - block->address,
       .range_begin = address});
}

void Heap::State::judge_copy(const Event& e) {
  judge_copy_side(e, Side::kDestination);
  judge_copy_side(e, Side::kSource);
  if (judged == 0 && e.result == cuda::CUDA_ERROR_INVALID_VALUE) judge_strays(e);
}

void Heap::State::judge_copy_side(const Event& e, Side side) {
  const bool to = side == Side::kDestination;
  const trace::Side declared = declared_side(e, side);
  const std::uint64_t address = address_of(e, side), bytes = trace::CopyView(e).bytes();
  if (declared != trace::Side::kArray) return judge_range(e, address, copy_extent(e, side), side, declared);
  const Id id = array_of(address);
  if (id == kNone) {
    judge_freed_array(e, address, bytes, side);
    return;
  }
  judge_array_side(e, side);
  touch(e, id, to ? Touch::Access::kWrite : Touch::Access::kRead, address, bytes);
}

void Heap::State::judge_set(const Event& e) {
  judge_range(e, trace::SetView(e).destination(), set_extent(e), Side::kDestination, trace::Side::kDevice);
  if (judged == 0 && e.result == cuda::CUDA_ERROR_INVALID_VALUE) judge_strays(e);
}

void Heap::State::judge_use(const Event& e) {
  const trace::UseView view(e);
  const std::uint64_t address = view.address(), bytes = view.bytes();
  const trace::UseClass use = view.use();
  if (is_dead(e.context) || is_sticky(e.result) || address == 0) return;
  if (use == trace::UseClass::kAccess) note_access(e);
  if (const Id array = array_of(address); array != kNone) {
    touch(e, array, Touch::Access::kBound, address, bytes);
    return;
  }
  const bool could_be_array = use == trace::UseClass::kTexture || use == trace::UseClass::kSurface;
  if (could_be_array && bytes == 0 && judge_freed_array(e, address, 0, Side::kNone)) return;
  for (const Space space : {Space::kAddress, Space::kRegistered}) {
    const auto range = store.find(space, address);
    if (!range) continue;
    if (e.succeeded() && use == trace::UseClass::kExport) store[range.value].marks |= kWasExported;
    return touch(e, range.value, Touch::Access::kBound, address, bytes);
  }
  if (live_containing(address) != nullptr) return; // reserved address space
  judge_freed_range(e, address, bytes, Side::kNone, trace::Side::kUnified);
}

void Heap::State::judge_range(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side,
                              trace::Side declared) {
  if (address == 0 || bytes == 0 || is_dead(e.context)) return;
  const auto access = side == Side::kSource ? Touch::Access::kRead : Touch::Access::kWrite;
  if (const auto range = store.find(Space::kAddress, address)) {
    const bool in_pool = has_regions && judge_in_pool(e, range, {address, bytes, access, side});
    if (!in_pool && bytes > range.end - address) judge_live_range(e, range, address, bytes, side);
    touch(e, range.value, access, address, bytes);
    return;
  }
  if (const auto range = store.find(Space::kRegistered, address)) {
    // The host memory behind a registered range may well go on: only a refusal makes it a mistake.
    if (bytes > range.end - address && !e.succeeded()) judge_live_range(e, range, address, bytes, side);
    touch(e, range.value, access, address, bytes);
    return;
  }
  judge_freed_range(e, address, bytes, side, declared);
}

void Heap::State::judge_live_range(const Event& e, const BlockStore::Range& range, std::uint64_t address,
                                   std::uint64_t bytes, Side side) {
  if (is_sticky(e.result)) return;
  const Block& block = store[range.value];
  if (block.bytes == 0) return; // size unknown
  const std::uint64_t last = address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
  std::uint64_t end = range.end;
  // Mappings and registered ranges that lie side by side are one piece of memory.
  if (block.family == Family::kVmmMapping || block.family == Family::kRegistered) {
    const auto& live = store.ordered(space_of(block.family));
    for (auto next = live.find_exact(end); next && end < last; next = live.find_exact(end)) {
      if (store[next.value].family != block.family) break;
      end = next.end;
    }
  }
  if (end >= last) return;
  add({.verdict = Verdict::kOutOfBounds,
       .side = side,
       .block = &block,
       .offset = address - block.address,
       .bytes_past = last - end,
       .range_begin = address,
       .range_bytes = bytes});
}

void Heap::State::judge_freed_range(const Event& e, std::uint64_t address, std::uint64_t bytes, Side side,
                                    trace::Side declared) {
  const bool could_be_host = declared == trace::Side::kHost;
  if (is_sticky(e.result) || (could_be_host && e.succeeded())) return;
  const Block* dead = store.find_dead(Space::kAddress, address);
  if (dead == nullptr) return;
  const Block& block = *dead;
  // A graph's memory comes back at every launch, static memory with its module.
  if (block.family == Family::kGraph || is_static(block.family)) return;
  if (is_pinned_or_managed(block.family) && e.succeeded()) return;
  add({.verdict = Verdict::kUseAfterFree,
       .side = side,
       .block = &block,
       .offset = address - block.address,
       .range_begin = address,
       .range_bytes = bytes});
}

// ---- what is going to be judged

void Heap::expect(const Event& e) const {
  state_->store.expect_base(trace::AllocView(e).address());
  for (const std::uint64_t word : likely_addresses(e)) state_->store.expect(trace::argument_address(word));
}

void Heap::expect_block(const Event& e) const {
  for (const std::uint64_t word : likely_addresses(e)) {
    state_->store.expect_block(trace::argument_address(word));
  }
}

} // namespace gmt
