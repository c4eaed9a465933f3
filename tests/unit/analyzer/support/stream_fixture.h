// SPDX-License-Identifier: Apache-2.0
// What tests of stream order share: two non-blocking streams, an event, and calls that name their
// stream.
#pragma once

#include "tests/unit/analyzer/support/analysis_fixture.h"
#include "trace/object_class.h"

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
    log().record({.api = "cuEventCreate"}, Made<trace::LifeFields>()
                                             .handle(kEvent)
                                             .object(ObjectClass::kEvent)
                                             .op(LifeOp::kCreate)
                                             .flags(2));
  }
  void stream(std::uint64_t handle, std::uint64_t flags) {
    log().record({.api = "cuStreamCreate"}, Made<trace::LifeFields>()
                                              .handle(handle)
                                              .object(ObjectClass::kStream)
                                              .op(LifeOp::kCreate)
                                              .flags(flags));
  }
  void malloc_on(std::uint64_t s, std::uint64_t address = kA) {
    log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .stack = {0x100}},
                MemoryKind::kStreamOrdered, address, kMiB, s);
  }
  void set_on(std::uint64_t s, std::uint64_t address = kA, unsigned thread = 0) {
    log(thread).record({.api = "cuMemsetD8Async",
                        .via = "cudaMemsetAsync",
                        .stack = {0x300},
                        .flags = trace::kSetAsync},
                       Made<trace::SetFields>().destination(address).bytes(4096).stream(s));
  }
  void free_on(std::uint64_t s, std::uint64_t address = kA) {
    log().release({.api = "cuMemFreeAsync",
                   .via = "cudaFreeAsync",
                   .stack = {0x200},
                   .flags = trace::kSetAsync},
                  FreeFunction::kMemFreeAsync, address, 0, s);
  }
  void sync(SyncOp op, std::uint64_t s, std::uint64_t other = 0, std::uint16_t code = 0) {
    log().record({.api = "cuSomething", .result = code},
                 Made<trace::SyncFields>().stream(s).other(other).op(op));
  }
  void order(std::uint64_t first, std::uint64_t then) {
    sync(SyncOp::kEventRecord, first, kEvent);
    sync(SyncOp::kStreamWaitEvent, then, kEvent);
  }
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t s, bool async, Side to_side,
            Side from_side) {
    log().record({.api = "cuMemcpy", .flags = trace::copy_flags(to_side, from_side, async)},
                 Made<trace::CopyFields>().destination(to).source(from).bytes(4096).stream(s));
  }
  // A kernel with parameters of these sizes, launched with one pointer in each.
  void kernel(std::uint64_t function, std::uint32_t bytes, unsigned parameters) {
    std::vector<std::uint64_t> words;
    for (unsigned i = 0; i < parameters; ++i)
      words.push_back(trace::pack_halves({i * bytes, bytes}));
    log().record({.api = ""},
                 Made<trace::KernelFields>().function(function).parameter_count(parameters), words);
  }
  void launch(std::uint64_t function, std::uint64_t s, const std::vector<std::uint64_t>& pointers) {
    std::vector<std::uint64_t> arguments;
    for (unsigned i = 0; i < pointers.size(); ++i)
      arguments.push_back(trace::argument_word(pointers[i], i));
    log().record({.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .stack = {0x310}},
                 Made<trace::LaunchFields>().function(function).stream(s), arguments);
  }
  void free_all() { // on a stream that is ordered after everything
    sync(SyncOp::kContextSynchronize, 0);
    free_on(kS);
  }
};

} // namespace gmt::test
