// SPDX-License-Identifier: Apache-2.0
// What tests of stream order share: two non-blocking streams, an event, and calls that name their stream.
#pragma once

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;
using trace::UseClass;

inline constexpr std::uint64_t kS = 0x5500, kT = 0x6600, kEvent = 0xe0, kDefault = 0, kThread = 2;
inline constexpr std::uint64_t kNonBlocking = 1;

class StreamOrders : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"stream-order"});
    log().context(1, 0xc1, 0, true);
    stream(kS, kNonBlocking);
    stream(kT, kNonBlocking);
    log().record(Kind::kLife, {.api = "cuEventCreate"},
                 {kEvent, static_cast<std::uint64_t>(ObjectClass::kEvent), 1, 2});
  }
  void stream(std::uint64_t handle, std::uint64_t flags) {
    log().record(Kind::kLife, {.api = "cuStreamCreate"},
                 {handle, static_cast<std::uint64_t>(ObjectClass::kStream), 1, flags});
  }
  void malloc_on(std::uint64_t s, std::uint64_t address = kA) {
    log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .stack = {0x100}},
                Family::kStreamOrdered, address, kMiB, s);
  }
  void set_on(std::uint64_t s, std::uint64_t address = kA, unsigned thread = 0) {
    log(thread).record(
      Kind::kSet,
      {.api = "cuMemsetD8Async", .via = "cudaMemsetAsync", .stack = {0x300}, .flags = trace::kSetAsync},
      {address, 4096, 0, s});
  }
  void free_on(std::uint64_t s, std::uint64_t address = kA) {
    log().release(
      {.api = "cuMemFreeAsync", .via = "cudaFreeAsync", .stack = {0x200}, .flags = trace::kSetAsync},
      FreeFunction::kMemFreeAsync, address, 0, s);
  }
  void sync(SyncOp op, std::uint64_t s, std::uint64_t other = 0, std::uint16_t code = 0) {
    log().record(Kind::kSync, {.api = "cuSomething", .result = code},
                 {s, other, static_cast<std::uint64_t>(op), 0});
  }
  void order(std::uint64_t first, std::uint64_t then) {
    sync(SyncOp::kEventRecord, first, kEvent);
    sync(SyncOp::kStreamWaitEvent, then, kEvent);
  }
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t s, bool async, Side to_side, Side from_side) {
    log().record(Kind::kCopy, {.api = "cuMemcpy", .flags = trace::copy_flags(to_side, from_side, async)},
                 {to, from, 4096, s});
  }
  // A kernel with parameters of these sizes, launched with one pointer in each.
  void kernel(std::uint64_t function, std::uint32_t bytes, unsigned parameters) {
    std::vector<std::uint64_t> payload{function, parameters};
    for (unsigned i = 0; i < parameters; ++i)
      payload.push_back(std::uint64_t{i} * bytes | std::uint64_t{bytes} << 32);
    log().record(Kind::kKernel, {.api = ""}, payload);
  }
  void launch(std::uint64_t function, std::uint64_t s, const std::vector<std::uint64_t>& pointers) {
    std::vector<std::uint64_t> payload{function, s, 1, 1};
    for (unsigned i = 0; i < pointers.size(); ++i) payload.push_back(trace::argument_word(pointers[i], i));
    log().record(Kind::kLaunch, {.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .stack = {0x310}},
                 payload);
  }
  void free_all() { // on a stream that is ordered after everything
    sync(SyncOp::kContextSynchronize, 0);
    free_on(kS);
  }
};

} // namespace gmt::test
