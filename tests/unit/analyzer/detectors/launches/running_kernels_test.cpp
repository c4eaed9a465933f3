// SPDX-License-Identifier: Apache-2.0
// uninitialized-read where kernels that were launched before the allocation may still be running: a
// note, unless that can be excluded.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kShared = 0x7f32d0000000, kDevice = 0x7f32e0000000;

class RunningKernels : public StreamOrders {
protected:
  void SetUp() override {
    StreamOrders::SetUp();
    expect_only({"uninitialized-read"});
    cuda_malloc_host(kShared, 4096);
    cuda_malloc(kDevice, 4096);
  }
  void launch(std::uint64_t s, std::uint64_t pointer, std::uint16_t flags = trace::kLaunchScanned,
              std::size_t thread = 0) {
    log(thread).record(
      {.api = "cuLaunchKernel", .flags = flags},
      Made<trace::LaunchFields>().function(0xf).stream(s).grid({1, 1, 1}).block({1, 1, 1}),
      {trace::argument_word(pointer, 0)});
  }
  void read(std::uint64_t s, bool async) {
    log().record({.api = "cuMemcpyDtoHAsync_v2",
                  .stack = {0x300},
                  .flags = trace::copy_flags(Side::kHost, Side::kDevice, async)},
                 Made<trace::CopyFields>().destination(kHost).source(kA).bytes(1000).stream(s));
  }
  void write(std::uint64_t address, std::uint64_t s) {
    log().record(
      {.api = "cuMemcpyHtoDAsync_v2", .flags = trace::copy_flags(Side::kDevice, Side::kHost, true)},
      Made<trace::CopyFields>().destination(address).source(kHost).bytes(8).stream(s));
  }
  // What is said of a block that is allocated and read behind what the test has done.
  char severity() {
    run();
    if (kinds() != "uninitialized-read") return '?';
    return result.findings[0].severity == Severity::kError ? 'E' : 'n';
  }
};

TEST_F(RunningKernels, ThatShareMemoryWithTheHostMayBeNotified) {
  launch(kS, kShared);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
  EXPECT_NE(
    result.findings[0].message.find(
      "no kernel was launched since the block was allocated, though one that was launched before may still "
      "have been running"),
    std::string::npos);
}

TEST_F(RunningKernels, ManagedMemoryIsSharedToo) {
  log().alloc({.api = "cuMemAllocManaged"}, MemoryKind::kManaged, kB, 4096);
  launch(kS, kB);
  cuda_malloc(kA, 1000);
  read(kDefault, false); // the default stream does not wait for a non-blocking one
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, NotOnesThatTheHostHasWaitedFor) {
  launch(kS, kShared);
  cuda_malloc(kA, 1000);
  sync(SyncOp::kStreamSynchronize, kS);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, NotOnesThatTheContextHasFinished) {
  launch(kS, kShared);
  sync(SyncOp::kContextSynchronize, 0);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, OnesThatAreNotInTheTrace) {
  log().record({.api = "unrecordedCalls"}, Made<trace::NoteFields>().first(1));
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, NotOnesThatAreNotInTheTraceIfTheContextHasFinished) {
  log().record({.api = "unrecordedCalls"}, Made<trace::NoteFields>().first(1));
  sync(SyncOp::kContextSynchronize, 0);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, OnesOfAnotherContextGoOn) {
  launch(kS, kShared);
  log().record({.api = "cuCtxSynchronize", .context = 2},
               Made<trace::SyncFields>().op(SyncOp::kContextSynchronize));
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, NotOnesThatTheCopyStandsBehind) {
  stream(0xb1, 0);
  launch(0xb1, kShared);
  cuda_malloc(kA, 1000);
  read(kDefault, false); // waits for blocking streams
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, DefaultStreamsOfTwoContextsAreApart) {
  log().context(2, 0xc2, 0, false);
  launch(kDefault, kShared);
  cuda_malloc(kA, 1000);
  log().record(
    {.api = "cuMemcpyDtoH_v2",
     .context = 2,
     .flags = trace::copy_flags(Side::kHost, Side::kDevice, false)},
    Made<trace::CopyFields>().destination(kHost).source(kA).bytes(1000).stream(kDefault));
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, NotOnesThatAnEventOrders) {
  launch(kS, kShared);
  order(kS, kT);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

// Whatever it waits for, it may come from the kernel that runs.
TEST_F(RunningKernels, StreamsThatWaitForMemoryAreOrderedBehindNothing) {
  launch(kS, kShared);
  cuda_malloc(kA, 1000);
  log().record(
    {.api = "cuStreamWaitValue32_v2"},
    Made<trace::UseFields>().address(kShared).bytes(4).use(UseClass::kMemOpWait).stream(kT));
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, NotOnesThatHaveDeviceMemoryAlone) {
  launch(kS, kDevice);
  cuda_malloc(kA, 1000);
  write(kDevice, kS); // behind the kernel
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, DeviceMemoryThatIsWrittenMeanwhile) {
  launch(kS, kDevice);
  cuda_malloc(kA, 1000);
  write(kDevice, kT);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, DeviceMemoryThatWasWrittenBefore) {
  launch(kS, kDevice);
  write(kDevice, kT);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, ManagedVariablesAreSharedWithAll) {
  log().alloc({.api = "cuLibraryGetManaged"}, MemoryKind::kModuleGlobal, kB, 8);
  launch(kS, kDevice);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, ManagedVariablesHaveAMemoryKindOfTheirOwnSince15) {
  log().alloc({.api = "cuLibraryGetManaged"}, MemoryKind::kManagedVariable, kB, 8);
  launch(kS, kDevice);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, WithUnknownArguments) {
  launch(kS, 0, 0);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, OfGraphs) {
  sync(SyncOp::kGraphLaunch, kS, 0x9e00);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, LaterOnesOnTheSameStreamDoNotHideTheFirst) {
  launch(kS, kShared);
  launch(kS, kDevice);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

TEST_F(RunningKernels, OfThreadsThatTakeTurnsOnAStreamAreDoneWithIt) {
  launch(kS, kShared);
  launch(kS, kDevice, trace::kLaunchScanned, 1);
  launch(kS, kShared);
  sync(SyncOp::kStreamSynchronize, kS);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, TheDefaultStreamsOfTwoThreadsAreTwo) {
  launch(kThread, kDevice, trace::kLaunchScanned, 1);
  launch(kThread, kShared);
  // The other thread's kernel may run, but is not notified
  sync(SyncOp::kStreamSynchronize, kThread);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'E');
}

TEST_F(RunningKernels, EachStreamCounts) {
  launch(kS, kShared);
  launch(kT, kDevice);
  launch(kT, kDevice);
  cuda_malloc(kA, 1000);
  read(kT, true);
  EXPECT_EQ(severity(), 'n');
}

} // namespace
} // namespace gmt::test
