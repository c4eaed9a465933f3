// SPDX-License-Identifier: Apache-2.0
// Work on two streams in the same memory: which pairs are found, how sure, and what orders them.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kKernel = 0xf1, kOther = 0xf2, kMapped = 0x7f32d0000000;

class StreamRaceTest : public StreamOrders {
protected:
  void SetUp() override {
    StreamOrders::SetUp();
    expect_only({"stream-race"});
    options.find_pointer_uses = [this](std::span<const std::string> names) {
      std::vector<PointerUses> found;
      for (const std::string& name : names) found.push_back(uses[name]);
      return found;
    };
    cuda_malloc(kA, kMiB);
    cuda_malloc_host(kMapped, kMiB);
    describe(kKernel, "one", 2);
    describe(kOther, "two", 2);
  }
  void describe(std::uint64_t function, const std::string& name, unsigned pointers) {
    kernel(function, 8, pointers);
    log().name(function, name);
  }
  void copy_out(std::uint64_t s, std::uint64_t from, std::uint64_t bytes) {
    log().record(
      {.api = "cuMemcpyDtoHAsync_v2",
       .via = "cudaMemcpyAsync",
       .stack = {0x400},
       .flags = trace::copy_flags(Side::kHost, Side::kDevice, true)},
      Made<trace::CopyFields>().destination(kMapped).source(from).bytes(bytes).stream(s));
  }
  void set_range(std::uint64_t s, std::uint64_t to, std::uint64_t bytes) {
    log().record({.api = "cuMemsetD8Async",
                  .via = "cudaMemsetAsync",
                  .stack = {0x300},
                  .flags = trace::kSetAsync},
                 Made<trace::SetFields>().destination(to).bytes(bytes).stream(s));
  }
  Severity severity() const { return result.findings.at(0).severity; }

  static constexpr ptx::PointerUse kReads{true, false, true}, kWrites{false, true, true},
    kBoth{true, true, true}, kWritesSomewhere{false, true, false};
  std::map<std::string, PointerUses> uses; // of kernels, by name
};

TEST_F(StreamRaceTest, ASetAndACopyOfTheSameBytes) {
  set_range(kS, kA, kMiB);
  copy_out(kT, kA, 4096);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message,
            "cudaMemcpyAsync on stream 0x6600 reads 4.0 KiB of 1.0 MiB of device memory allocated "
            "by cudaMalloc, which cudaMemsetAsync on stream 0x5500 writes, and nothing orders the "
            "two.");
  EXPECT_EQ(f.advice,
            "Call cudaEventRecord on stream 0x5500 behind the earlier one and cudaStreamWaitEvent "
            "on stream 0x6600 before the later one; or wait for stream 0x5500 with "
            "cudaStreamSynchronize.");
  EXPECT_EQ(labels(f), "used here|first used here|allocated here");
  EXPECT_EQ(f.bytes, 4096u);
}

TEST_F(StreamRaceTest, EqualPairsAreOneWhicheverComesFirst) {
  for (int i = 0; i < 3; ++i) {
    set_range(kS, kA, kMiB);
    copy_out(kT, kA, 4096);
  }
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings[0].count, 5u);
}

TEST_F(StreamRaceTest, TwoReadersAndNeighboursAreNoRace) {
  copy_out(kS, kA, kMiB);
  copy_out(kT, kA, kMiB);
  sync(SyncOp::kContextSynchronize, 0);
  set_range(kS, kA, 1001);
  copy_out(kT, kA + 1001, 1000);
  run();
  // Both copies write the same pinned memory: that is one.
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_NE(result.findings[0].message.find("pinned"), std::string::npos);
}

TEST_F(StreamRaceTest, EventsWaitsAndTheDefaultStreamOrder) {
  set_range(kS, kA, kMiB);
  order(kS, kT);
  copy_out(kT, kA, kMiB);
  sync(SyncOp::kStreamSynchronize, kT);
  set_range(kS, kA, kMiB);
  sync(SyncOp::kStreamSynchronize, kS);
  copy_out(kT, kA, kMiB);
  sync(SyncOp::kContextSynchronize, 0);
  stream(0x7700, 0); // a blocking one
  set_range(0x7700, kA, kMiB);
  set_range(kDefault, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceTest, ANewAllocationThereIsOtherMemory) {
  set_range(kS, kA, kMiB);
  cuda_free(kA);
  cuda_malloc(kA, kMiB);
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

// Calls by a symbol look its address up each time. A module that is loaded later may have another
// variable there.
TEST_F(StreamRaceTest, AVariableIsTheSameUntilItsCodeIsUnloaded) {
  constexpr std::uint64_t kVariable = 0x7f32e0000000;
  for (const bool is_unloaded : {false, true}) {
    for (const std::uint64_t stream : {kS, kT}) {
      log().alloc({.api = "cuLibraryGetGlobal"}, trace::MemoryKind::kModuleGlobal,
                  kVariable + (is_unloaded ? 4096 : 0), 64);
      if (stream == kS) set_range(stream, kVariable + (is_unloaded ? 4096 : 0), 64);
      else copy_out(stream, kVariable + (is_unloaded ? 4096 : 0), 64);
      if (is_unloaded)
        log().record({.api = "cuLibraryUnload"}, Made<trace::LifeFields>()
                                                   .object(trace::ObjectClass::kLibrary)
                                                   .op(trace::LifeOp::kDestroy));
    }
  }
  run();
  EXPECT_EQ(kinds(), "stream-race");
  EXPECT_EQ(result.findings.at(0).count, 1u);
}

TEST_F(StreamRaceTest, AnUnknownCallBetweenThemIsNotChecked) {
  set_range(kS, kA, kMiB);
  log().record(Kind::kNote, {.api = "cuGraphicsMapResources"}, {0, 0, 0});
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-race", "cuGraphicsMapResources"));
}

TEST_F(StreamRaceTest, WhatTheAllocationIsNotOrderedBeforeIsStreamOrders) {
  malloc_on(kS, kB);
  set_range(kS, kB, 4096);
  copy_out(kT, kB, 4096);
  expect_only({"stream-race", "stream-order"});
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamRaceTest, AKernelThatWritesAllThatACopyReads) {
  uses["one"] = {kWritesSomewhere, {}};
  launch(kKernel, kS, {kA});
  copy_out(kT, kA, kMiB);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(severity(), Severity::kError);
  EXPECT_EQ(labels(result.findings[0]), "used here|first launched here|allocated here");
  EXPECT_NE(result.findings[0].message.find("which one on stream 0x5500 writes"),
            std::string::npos);
}

TEST_F(StreamRaceTest, AKernelThatOnlyReadsMeetsNoReader) {
  uses["one"] = {kReads, {}};
  launch(kKernel, kS, {kA});
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

// The call is known by its name: its number is that of the build that wrote the trace.
TEST_F(StreamRaceTest, AnEventThatALaunchRecordsMayComeBeforeItsKernelEnds) {
  uses["one"] = {kWrites, {}};
  launch(kKernel, kS, {kA});
  log().record({.api = "cuLaunchKernelEx"},
               Made<trace::SyncFields>().stream(kS).other(kEvent).op(SyncOp::kEventRecord));
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-race"));
}

TEST_F(StreamRaceTest, PartsOfOneBufferAreSilent) {
  uses["one"] = {kWritesSomewhere, {}};
  launch(kKernel, kS, {kA}); // with an offset of its own
  copy_out(kT, kA, 4096);
  launch(kKernel, kT, {kA});
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceTest, AKernelThatBeginsAtItsPointerIsAWarning) {
  uses["one"] = {kWrites, {}};
  launch(kKernel, kS, {kA});
  copy_out(kT, kA, 4096);
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(severity(), Severity::kWarning);
  EXPECT_NE(result.findings[0].advice.find("a part of its own"), std::string::npos);
}

TEST_F(StreamRaceTest, TwoKernelsThatBeginAtOnePointer) {
  uses["one"] = {kWrites, {}};
  uses["two"] = {kReads, {}};
  launch(kKernel, kS, {kA});
  launch(kOther, kT, {kA});
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(severity(), Severity::kWarning);
}

TEST_F(StreamRaceTest, OfUnknownKernelsNothingIsSaid) {
  launch(kKernel, kS, {kA});
  copy_out(kT, kA, kMiB);
  set_range(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-race", "of 1 kernel no PTX was found"));
}

TEST_F(StreamRaceTest, AKernelThatMaySynchronizeIsKnownToBeLeftOut) {
  uses["one"] = {{}, {}};
  launch(kKernel, kS, {kA});
  set_range(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_FALSE(is_not_checked("stream-race"));
}

TEST_F(StreamRaceTest, AKernelMaySignalTheHostInPinnedMemory) {
  set_range(kS, kA, kMiB);
  launch(kKernel, kS, {kMapped});
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceTest, ACopyFromPageableMemoryMayOutlastItsCall) {
  uses["one"] = {kBoth, {}};
  launch(kOther, kDefault, {kA});
  cuda_memcpy(kA, kHost, kMiB);
  launch(kKernel, kT, {kA});
  run();
  ASSERT_EQ(kinds(), "stream-race");
  EXPECT_EQ(severity(), Severity::kWarning);
  EXPECT_EQ(result.findings[0].advice,
            "Call cudaStreamSynchronize for the default stream behind the copy, or copy with "
            "cudaMemcpyAsync on stream 0x6600.");
}

TEST_F(StreamRaceTest, ItIsOverWhenItsStreamWaits) {
  uses["one"] = {kBoth, {}};
  cuda_memcpy(kA, kHost, kMiB);
  sync(SyncOp::kStreamSynchronize, kDefault);
  launch(kKernel, kT, {kA});
  sync(SyncOp::kContextSynchronize, 0);
  stream(0x7700, 0); // a blocking one waits for the default stream
  cuda_memcpy(kA, kHost, kMiB);
  launch(kKernel, 0x7700, {kA});
  sync(SyncOp::kStreamSynchronize, 0x7700);
  launch(kKernel, kT, {kA});
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceTest, WhatALibraryDoesWithItselfIsItsOwn) {
  trace.modules = {"+\t1\t200\t500\t0\t-\t/usr/lib/libcublasLt.so.13"};
  set_range(kS, kA, kMiB);
  copy_out(kT, kA, kMiB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamRaceTest, RowsMeetOnlyWhereTheirColumnsDo) {
  const auto set_rows = [this](std::uint64_t s, std::uint64_t to) {
    log().record(
      {.api = "cuMemsetD2D8Async", .stack = {to & 0xff}, .flags = trace::kSetAsync},
      Made<trace::SetFields>().destination(to).bytes(64 * 16).stream(s).pitch(256).width(64).height(
        16));
  };
  set_rows(kS, kA);
  set_rows(kT, kA + 64);
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
