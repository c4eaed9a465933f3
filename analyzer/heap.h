// SPDX-License-Identifier: Apache-2.0
// What is allocated at a point of the merged order of one process, and the verdict on each call that touches
// memory. Fed by Session, read by detectors. Addresses are virtual and unified (UVA): device, managed and pinned
// memory share one address space; handles (arrays, VMM handles) have a space of their own per family.
//
// Rules for releases and the order of verdicts are DESIGN 5's; which release fits which allocation is the table
// in cuda-api.md 5.1. Memory grows with live blocks and a bounded number of freed ones, never with events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/event.h"

namespace gmt {

// One allocation from birth to death. Freed blocks are kept (newest kMaxFreed) to explain later mistakes.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;   // as requested; pitch x height x depth when pitched
  trace::Family family = trace::Family::kUnknown;
  std::uint16_t api = trace::kNoApi; // how it was born: runtime's name if one led there
  std::uint16_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
  std::uint64_t pitch = 0, width = 0, height = 0, depth = 0, element = 0; // 0 where they do not apply
  StackId allocated;
  std::uint64_t born = 0;    // order
  enum class End : std::uint8_t { kAlive, kFreed, kContextEnded, kReborn };
  End end = End::kAlive;
  StackId freed;             // the release, or the call that ended its context
  std::uint16_t freed_api = trace::kNoApi;
  std::uint64_t died = 0;
};

// What Heap::apply found out about one event.
struct Judgement {
  enum class Verdict : std::uint8_t {
    kNone,             // nothing to say: not a memory call, or all is well
    kDoubleFree,       // block: the freed one
    kMismatchedFree,   // block: the live one
    kInvalidFreeInside,   // block: the live one that contains the address
    kInvalidFreeEnded,    // block: ended with its context
    kInvalidFreeUnknown,  // no block
    kUnseenAllocation, // the driver freed what we never saw born: not a mistake
    kUseAfterFree,     // block: the freed one that the range starts in (see `side`)
    kOutOfBounds,      // block: the live one; first byte past its end is bytes_past away from the range's end
  };
  Verdict verdict = Verdict::kNone;
  const Block* block = nullptr; // valid until the next apply()
  std::uint64_t offset = 0;     // of the address inside block
  std::uint64_t bytes_past = 0; // kOutOfBounds
  std::uint64_t range_begin = 0, range_bytes = 0; // the range judged
  enum class Side : std::uint8_t { kNone, kDestination, kSource } side = Side::kNone;
  bool sticky = false; // the context was dead before this call: releases are not judged
};

std::string_view family_noun(trace::Family family);          // "device memory", "pinned host memory", ...
std::string_view right_release(trace::Family family, bool runtime); // "cudaFreeHost" / "cuMemFreeHost"

class Heap {
public:
  static constexpr std::size_t kMaxFreed = 1'000'000;

  Heap();
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Applies one event and judges it. Runtime-row events (kFlagRuntime) are judged, never applied.
  // The span (a copy can be wrong on both sides) and the blocks it points to are valid until the next apply().
  std::span<const Judgement> apply(const Event& event);

  // Live block that contains the address / newest freed block that contained it and was not reborn.
  const Block* find_live(std::uint64_t address) const;
  const Block* find_freed(std::uint64_t address) const;
  void for_each_live(const std::function<void(const Block&)>& visit) const; // by birth
  void for_each_ended_with_context(const std::function<void(const Block&)>& visit) const; // leaks of DESIGN 5

  std::uint64_t live_device_bytes() const;
  std::uint64_t peak_device_bytes() const;
  std::uint64_t peak_order() const;
  bool sticky_error() const;            // a context died of an error
  std::uint16_t sticky_code() const;    // 700, 719, ...
  std::uint64_t unseen_allocations() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace gmt
