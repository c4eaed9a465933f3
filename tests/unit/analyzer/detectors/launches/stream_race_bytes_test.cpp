// SPDX-License-Identifier: Apache-2.0
// Work on two streams in the same memory, where the simulated device says which bytes launches and
// nodes of graphs used: those count, whatever the arguments say.

#include "tests/unit/analyzer/support/stream_fixture.h"
#include "trace/kernel_faults.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kKernel = 0xf1, kOther = 0xf2, kMapped = 0x7f32d0000000;
constexpr std::uint64_t kExecutable = 0x9200;
constexpr std::uint64_t kRead = trace::kRowsRead, kWritten = trace::kRowsWritten,
                        kStrong = trace::kRowsStrong, kFreed = trace::kRowsFreed;

struct Used {
  std::uint64_t use, address, width, pitch = 0, count = 1;
};

class StreamRaceBytes : public StreamOrders {
protected:
  void SetUp() override {
    trace.info.push_back("device=simulated");
    StreamOrders::SetUp();
    expect_only({"stream-race"});
    cuda_malloc(kA, kMiB);
    cuda_malloc(kB, kMiB);
    cuda_malloc_host(kMapped, kMiB);
    kernel(kKernel, 8, 2);
    kernel(kOther, 8, 2);
    log().name(kKernel, "one");
    log().name(kOther, "two");
  }
  // The order of the next record.
  std::uint64_t coming() { return trace.next_order() + 1; }
  void used(std::uint64_t call, const std::string& name, const std::vector<Used>& rows,
            std::uint16_t flags = trace::kExecutionWhole, std::uint64_t index = 0,
            std::uint64_t before = 0) {
    Made<trace::ExecutionFields> made;
    made.op(trace::ExecutionOp::kAccesses).call(call).index(index).before(before);
    if (!name.empty()) made.kernel(log().text(name));
    std::vector<std::uint64_t> words;
    for (const Used& each : rows)
      words.insert(words.end(), {each.address, each.width, each.pitch,
                                 each.count << trace::kRowsCountShift | each.use});
    log().record({.flags = flags}, made, words);
  }
  void run_kernel(std::uint64_t function, std::uint64_t s, const std::vector<Used>& rows,
                  std::uint16_t flags = trace::kExecutionWhole) {
    const std::uint64_t order = coming();
    launch(function, s, {kA});
    used(order, function == kKernel ? "one" : "two", rows, flags);
  }
  std::uint64_t launch_graph(std::uint64_t s) {
    const std::uint64_t order = coming();
    log().record({.api = "cuGraphLaunch", .via = "cudaGraphLaunch", .stack = {0x320}},
                 Made<trace::SyncFields>().stream(s).other(kExecutable).op(SyncOp::kGraphLaunch));
    return order;
  }
  void copy_out(std::uint64_t s, std::uint64_t from, std::uint64_t bytes) {
    log().record(
      {.api = "cuMemcpyDtoHAsync_v2",
       .via = "cudaMemcpyAsync",
       .stack = {0x400},
       .flags = trace::copy_flags(Side::kHost, Side::kDevice, true)},
      Made<trace::CopyFields>().destination(kMapped).source(from).bytes(bytes).stream(s));
  }
};

TEST_F(StreamRaceBytes, TwoKernelsThatMeet) {
  run_kernel(kKernel, kS, {{kWritten, kA, 4096}});
  run_kernel(kOther, kT, {{kRead, kA + 4092, 4}, {kWritten, kB, 4096}});
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kError);
  EXPECT_EQ(result.findings[0].message,
            "two on stream 0x6600 reads 1.0 MiB of device memory allocated by cudaMalloc, "
            "which one on stream 0x5500 writes, and nothing orders the two.");
}

TEST_F(StreamRaceBytes, PartsOfTheirOwnAreSilentWhateverTheArgumentsSay) {
  run_kernel(kKernel, kS, {{kWritten, kA, 4, 8, 1024}});
  run_kernel(kOther, kT, {{kWritten, kA + 4, 4, 8, 1024}});
  copy_out(kT, kA + 8192, 4096);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_FALSE(is_not_checked("stream-race"));
}

TEST_F(StreamRaceBytes, MemoryThatNoArgumentNames) {
  run_kernel(kKernel, kS, {{kWritten, kB, 4096}});
  copy_out(kT, kB, 4096);
  run();
  EXPECT_EQ(kinds(), "stream-race");
}

TEST_F(StreamRaceBytes, AnEventOrdersThem) {
  run_kernel(kKernel, kS, {{kWritten, kA, 4096}});
  order(kS, kT);
  run_kernel(kOther, kT, {{kRead, kA, 4096}});
  run();
  EXPECT_EQ(kinds(), "");
}

// With --late the device speaks when the launch runs: what was ordered at its call counts.
TEST_F(StreamRaceBytes, SaidLaterThanOtherCalls) {
  const std::uint64_t first = coming();
  launch(kKernel, kS, {kA});
  order(kS, kT);
  const std::uint64_t second = coming();
  launch(kOther, kT, {kA});
  copy_out(kS, kB, 4096);
  order(kT, kS);
  used(second, "two", {{kRead, kA, 4096}, {kWritten, kB, 4096}});
  used(first, "one", {{kWritten, kA, 4096}});
  run();
  ASSERT_EQ(kinds(), "stream-race"); // of the copy and the second
  EXPECT_NE(result.findings[0].message.find("two on stream 0x6600 writes"), std::string::npos);
}

TEST_F(StreamRaceBytes, AtomicsDoNotRaceWithEachOther) {
  constexpr auto kMayWait = trace::kExecutionWhole | trace::kExecutionMayWait;
  run_kernel(kKernel, kS, {{kWritten | kStrong, kA, 1024}}, kMayWait);
  run_kernel(kOther, kT, {{kWritten | kStrong, kA, 1024}}, kMayWait);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_FALSE(is_not_checked("stream-race"));
}

TEST_F(StreamRaceBytes, KernelsThatMayWaitForEachOtherAreNotChecked) {
  constexpr auto kMayWait = trace::kExecutionWhole | trace::kExecutionMayWait;
  run_kernel(kKernel, kS, {{kWritten, kB, 4096}, {kWritten | kStrong, kA, 4}}, kMayWait);
  run_kernel(kOther, kT, {{kRead, kB, 4096}, {kRead | kStrong, kA, 4}}, kMayWait);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-race", "by atomics or volatile"));
}

TEST_F(StreamRaceBytes, WhatAtomicsCountIsReadByAKernelThatHasNone) {
  constexpr auto kMayWait = trace::kExecutionWhole | trace::kExecutionMayWait;
  run_kernel(kKernel, kS, {{kWritten | kStrong, kA, 1024}}, kMayWait);
  run_kernel(kOther, kT, {{kRead, kA, 1024}});
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kError);
}

// A program may poll a counter that a kernel raises.
TEST_F(StreamRaceBytes, ACopyOfWhatAtomicsCountIsAWarning) {
  constexpr auto kMayWait = trace::kExecutionWhole | trace::kExecutionMayWait;
  run_kernel(kKernel, kS, {{kWritten | kStrong, kA, 4}}, kMayWait);
  copy_out(kT, kA, 4);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
}

TEST_F(StreamRaceBytes, AFlagOfTwoKernelsIsAWarning) {
  run_kernel(kKernel, kS, {{kWritten, kA, 4}});
  run_kernel(kOther, kT, {{kWritten, kA, 4}});
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
}

// Node 0 writes, node 1 frees: its bits say whether it waits for the other.
TEST_F(StreamRaceBytes, AFreeNodeThatNothingOrders) {
  const std::uint64_t beside = launch_graph(kS), behind = launch_graph(kS);
  used(beside, "one", {{kWritten, kA, 4096}});
  used(beside, "", {{kWritten | kFreed, kA, 1 << 20}}, trace::kExecutionWhole, 1, 0);
  used(behind, "two", {{kWritten, kB, 4096}});
  used(behind, "", {{kWritten | kFreed, kB, 1 << 20}}, trace::kExecutionWhole, 1, 1);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(
    result.findings[0].message,
    "a free node of a graph on stream 0x5500 frees 1.0 MiB of device memory allocated by "
    "cudaMalloc, which one of a graph on stream 0x5500 writes, and nothing orders the two.");
  EXPECT_EQ(result.findings[0].advice, "Let the free node depend on the other.");
}

TEST_F(StreamRaceBytes, AGraphAgainstAStream) {
  const std::uint64_t order_of_launch = launch_graph(kS);
  used(order_of_launch, "one", {{kWritten, kA, 4096}});
  used(order_of_launch, "", {{kRead, kA, 4096}, {kWritten, kB, 4096}}, trace::kExecutionWhole, 1,
       1);
  copy_out(kT, kB, 4096);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_NE(result.findings[0].message.find("a copy or set of a graph on stream 0x5500 writes"),
            std::string::npos);
}

TEST_F(StreamRaceBytes, BranchesOfAGraph) {
  const std::uint64_t order_of_launch = launch_graph(kS);
  used(order_of_launch, "one", {{kWritten, kA, 4096}});
  used(order_of_launch, "two", {{kRead, kA, 4096}}, trace::kExecutionWhole, 1, 0);
  used(order_of_launch, "two", {{kRead, kA, 4096}}, trace::kExecutionWhole, 2, 1);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].count, 1u);
  EXPECT_EQ(result.findings[0].advice, "Let one of the two nodes depend on the other.");
}

// CUDA orders them, whatever streams they are launched into.
TEST_F(StreamRaceBytes, LaunchesOfOneExecutableGraph) {
  used(launch_graph(kS), "one", {{kWritten, kA, 4096}});
  used(launch_graph(kT), "one", {{kWritten, kA, 4096}});
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceBytes, WhatTheDeviceDoesNotSayIsInferred) {
  options.find_pointer_uses = [](std::span<const std::string> names) {
    return std::vector<PointerUses>(names.size(), {{false, true, true}, {}});
  };
  launch(kKernel, kS, {kA});
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "stream-race");
}

class HostRaces : public StreamRaceBytes {
protected:
  void SetUp() override {
    StreamRaceBytes::SetUp();
    expect_only({"host-race"});
  }
  std::uint64_t copy_in() {
    const std::uint64_t order = coming();
    log().record({.api = "cuMemcpyHtoDAsync_v2",
                  .via = "cudaMemcpyAsync",
                  .stack = {0x400},
                  .flags = trace::copy_flags(Side::kDevice, Side::kHost, true)},
                 Made<trace::CopyFields>().destination(kA).source(kMapped).bytes(4096).stream(kS));
    return order;
  }
  void say(trace::ExecutionOp op, std::uint64_t call) {
    log().record({}, Made<trace::ExecutionFields>()
                       .op(op)
                       .call(call)
                       .address(kMapped + 8)
                       .bytes(4096)
                       .missing(100));
  }
};

TEST_F(HostRaces, TheSourceOfACopyHasChanged) {
  say(trace::ExecutionOp::kHostWrote, copy_in());
  run();
  ASSERT_EQ(kinds(), "host-race");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "The host changed 100 bytes of 1.0 MiB of pinned host memory allocated by cudaMallocHost "
    "after cudaMemcpyAsync had been called to copy from there, and before that was done.");
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(HostRaces, SourcesThatAreNotKeptAreNotChecked) {
  say(trace::ExecutionOp::kSourceNotKept, copy_in());
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("host-race", "of 1 copy more"));
}

class HostUses : public HostRaces {
protected:
  void SetUp() override {
    HostRaces::SetUp();
    turn(trace::HostNotWatched::kNone);
  }
  void turn(trace::HostNotWatched why) {
    log().record({}, Made<trace::ExecutionFields>()
                       .op(trace::ExecutionOp::kHostNotWatched)
                       .missing(static_cast<std::uint64_t>(why)));
  }
  void use(trace::ExecutionOp op, std::uint64_t call) {
    log().record({.stack = {0x900}},
                 Made<trace::ExecutionFields>().op(op).call(call).address(kMapped + 8));
  }
};

TEST_F(HostUses, AStoreIntoTheSourceBeforeTheHostHasWaited) {
  const std::uint64_t copy = copy_in();
  sync(trace::SyncOp::kStreamSynchronize, kT);
  use(trace::ExecutionOp::kHostStores, copy);
  run();
  ASSERT_EQ(kinds(), "host-race");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message,
            "The host writes 1.0 MiB of pinned host memory allocated by cudaMallocHost, which "
            "cudaMemcpyAsync on stream 0x5500 reads, and nothing has let the host know that the "
            "copy is done.");
  EXPECT_EQ(labels(f), "used here|copied here|allocated here");
}

TEST_F(HostUses, NoneBehindAWait) {
  const std::uint64_t copy = copy_in();
  sync(trace::SyncOp::kStreamSynchronize, kS);
  use(trace::ExecutionOp::kHostStores, copy);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(HostUses, WhatIsNotWatchedIsNotChecked) {
  turn(trace::HostNotWatched::kHandler);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("host-race", "a handler of SIGSEGV of its own"));
}

class HostFunctions : public HostRaces {
protected:
  static constexpr std::uint64_t kPageable = 0x5555'0000'1000;
  void call_host(std::uint64_t given) { sync(trace::SyncOp::kHostFunction, kS, given); }
  void copy_pageable() { copy(kA, kPageable, kS, true, Side::kDevice, Side::kHost); }
};

TEST_F(HostFunctions, MayNotHaveRunBeforeACopyFromPageableMemory) {
  call_host(kPageable + 16);
  copy_pageable();
  run();
  ASSERT_EQ(kinds(), "host-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(labels(result.findings[0]), "copied here|called here");
}

TEST_F(HostFunctions, HaveRunBehindAWaitOrUseOtherMemory) {
  call_host(kPageable);
  sync(trace::SyncOp::kStreamSynchronize, kS);
  copy_pageable();
  call_host(kPageable + 4096);
  copy_pageable();
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
