// SPDX-License-Identifier: Apache-2.0
// Records of a program that runs for days, as fast as they can be written: what tests of long runs
// share. A step are ten calls: blocks come and go, and are set, filled, read and given to kernels.
// Some mistakes can be put between steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {

class MadeUpCalls {
public:
  static constexpr std::uint64_t kBlocks = 64;     // alive, of each step's one
  static constexpr std::uint64_t kBytes = 1 << 12; // of a block, at least
  static constexpr std::uint64_t kOfStep = 10;

  // Names the calls in the trace's `apis`, which must be empty.
  explicit MadeUpCalls(TraceWriter& trace) {
    for (const char* name : {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuMemcpyHtoD_v2",
                             "cuMemcpyDtoH_v2", "cuLaunchKernel", "cudaMalloc", "cudaFree",
                             "cudaMemset", "cudaMemcpy", "cudaLaunchKernel", "unrecordedCalls"})
      trace.api(name);
  }

  // A file of the program's log begins: its call stacks.
  void begin_file(std::vector<trace::Slot>& into) {
    for (std::uint32_t id = 1; id <= kStacks; ++id) {
      into.push_back(
        slot(trace::Kind::kStack, trace::kNoApi, trace::kNoApi, 0, {id, 2, id * 256, 0x1000}));
      into.back().order = 0;
    }
  }
  void step(std::vector<trace::Slot>& into) {
    using trace::Side;
    const std::uint64_t block = address(step_), bytes = kBytes + random_() % 64 * 1024;
    add(into, trace::Kind::kAlloc, 0, 6, kAllocation, {block, bytes, 1, 0});
    add(into, trace::Kind::kSet, 2, 8, kSet, {block, kBytes});
    copy(into, block, 64 + random_() % 4000);
    for (int i = 0; i < 4; ++i) {
      add(into, trace::Kind::kLaunch, 5, 10, kLaunch, {0xf00 + random_() % 3, 0, 1, 1});
    }
    add(into, trace::Kind::kCopy, 4, 9, kRead, {0x570000000000, block, 64, 0},
        trace::copy_flags(Side::kHost, Side::kDevice, false));
    copy(into, block, 1 + random_() % 64);
    if (step_ >= kBlocks) release(into, address(step_ - kBlocks), 0);
    ++step_;
  }
  void leak(std::vector<trace::Slot>& into) {
    const std::uint64_t block = kBase + (kAddresses + ++leaks_) * kStride;
    add(into, trace::Kind::kAlloc, 0, 6, kLeak, {block, kBytes, 1, 0});
    add(into, trace::Kind::kSet, 2, 8, kSet, {block, kBytes});
  }
  void free_again(std::vector<trace::Slot>& into) { // CUDA says "invalid argument"
    release(into, address(step_ - kBlocks - 1), 1);
  }
  void copy_too_much(std::vector<trace::Slot>& into) { copy(into, address(step_ - 1), 1 << 20); }
  std::uint64_t calls() const { return calls_; }

private:
  enum Stack : std::uint32_t {
    kAllocation = 1,
    kRelease,
    kSet,
    kCopy,
    kRead,
    kLaunch,
    kLeak,
    kStacks = kLeak
  };
  static constexpr std::uint64_t kBase = 0x7f0000000000, kAddresses = 4096, kStride = 1 << 17;

  static std::uint64_t address(std::uint64_t step) {
    return kBase + step * 7919 % kAddresses * kStride;
  }
  void copy(std::vector<trace::Slot>& into, std::uint64_t block, std::uint64_t bytes) {
    add(into, trace::Kind::kCopy, 3, 9, kCopy, {block, 0x560000000000, bytes, 0},
        trace::copy_flags(trace::Side::kDevice, trace::Side::kHost, false));
  }
  void release(std::vector<trace::Slot>& into, std::uint64_t block, std::uint16_t result) {
    add(into, trace::Kind::kFree, 1, 7, kRelease, {block, 1, 0, 0}, 0, result);
  }
  static trace::Slot slot(trace::Kind kind, std::uint16_t api, std::uint16_t via,
                          std::uint32_t stack, const std::array<std::uint64_t, 4>& words) {
    trace::Slot slot{};
    slot.head = trace::pack({kind, 1, api, 0, 0});
    slot.stack = stack;
    slot.context = 1;
    slot.via = via;
    std::ranges::copy(words, slot.a);
    return slot;
  }
  void add(std::vector<trace::Slot>& into, trace::Kind kind, std::uint16_t api, std::uint16_t via,
           Stack stack, const std::array<std::uint64_t, 4>& words, std::uint16_t flags = 0,
           std::uint16_t result = 0) {
    trace::Slot& one = into.emplace_back(slot(kind, api, via, stack, words));
    one.head = trace::pack({kind, 1, api, flags, result});
    one.order = ++order_ | std::uint64_t{random_() % 8} << 48; // and how long it took
    one.time = time_ += 900'000 + random_() % 200'000;
    ++calls_;
  }

  std::minstd_rand random_{7};
  std::uint64_t step_ = 0, calls_ = 0, order_ = 100, time_ = 1'000'000, leaks_ = 0;
};

} // namespace gmt::test
