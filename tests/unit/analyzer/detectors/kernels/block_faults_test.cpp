// SPDX-License-Identifier: Apache-2.0
// What threads of a block do to each other: races in shared memory, barriers, asserts and the rest.
#include "tests/unit/analyzer/detectors/kernels/faults_fixture.h"

namespace gmt::test {
namespace {

class BlockFaults : public Faults {};

TEST_F(BlockFaults, RaceShowsBothSides) {
  MadeFault f;
  fault(f, FaultKind::kSharedRace, launch())
    .address(128)
    .bytes(4)
    .space(FaultSpace::kShared)
    .access(FaultAccess::kLoad)
    .other_access(FaultAccess::kStore)
    .other_lines(log().text("6\t\tsrc/fill.cu"))
    .other_block_index({1, 0, 0})
    .other_thread_index({3, 0, 0});
  add(f, trace::kFaultHasThread | trace::kFaultHasAddress | trace::kFaultHasOther |
           trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "shared-race");
  EXPECT_EQ(found.message,
            "fill(float*, int) reads 4 bytes of shared memory at offset 128 without a barrier "
            "behind a store by another thread of the block at fill.cu:6.");
  EXPECT_EQ(labels(found), "accessed here|first accessed here|launched here");
  EXPECT_EQ(found.stacks[1].device->thread, (std::array<std::uint32_t, 3>{3, 0, 0}));
  EXPECT_FALSE(found.address);
}

TEST_F(BlockFaults, VolatileAccessesWithNoOrderAreAWarning) {
  MadeFault f;
  fault(f, FaultKind::kSharedRace, launch())
    .message(log().text("volatile"))
    .bytes(4)
    .space(FaultSpace::kShared)
    .access(FaultAccess::kLoad)
    .other_lines(log().text("6\t\tsrc/fill.cu"))
    .other_access(FaultAccess::kStore);
  add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.message,
            "fill(float*, int) reads 4 bytes of shared memory without a barrier behind a store by "
            "another thread of the block at fill.cu:6: both are volatile, which is no race, but "
            "orders nothing either.");
  EXPECT_NE(found.advice.find("A flag needs fences as well"), std::string::npos);
}

TEST_F(BlockFaults, WarpsThatMeetAtTwoBarriersAreAWarning) {
  MadeFault f;
  fault(f, FaultKind::kBarrierDivergence, launch())
    .message(log().text("apart"))
    .other_lines(log().text("6\t\tsrc/fill.cu"));
  add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.message,
            "Warps of a block of fill(float*, int) meet at two barriers: one waits at "
            "fill.cu:8, others at fill.cu:6, and PTX counts both as one.");
}

TEST_F(BlockFaults, ThreadsThatEndedBeforeABarrierAreANote) {
  MadeFault f;
  fault(f, FaultKind::kBarrierDivergence, launch())
    .message(log().text("ended"))
    .other_lines(log().text("6\t\tsrc/fill.cu"));
  add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.severity, Severity::kNote);
  EXPECT_EQ(found.message,
            "Threads of a block of fill(float*, int) go on at a barrier at fill.cu:8 without "
            "others, which ended before at fill.cu:6: PTX allows it, and CUDA C++ wants all "
            "threads of the block there.");
  EXPECT_EQ(labels(found), "waited here|launched here");
}

TEST_F(BlockFaults, KernelsOfTheDeviceRuntimeMayEndBeforeABarrier) {
  MadeFault f;
  fault(f, FaultKind::kBarrierDivergence, launch())
    .message(log().text("ended"))
    .kernel(log().text("__nv_static_52__f45_22_cuda_device_runtime_cu_3e_1__Z16memcpy_3d_device"));
  add(f, trace::kFaultHasThread);
  run();
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(BlockFaults, AWrongMaskIsAWarning) {
  for (const char* message : {"unnamed", "differing"}) {
    MadeFault f;
    fault(f, FaultKind::kIllegalInstruction, launch())
      .message(log().text(message))
      .lines(
        log().text(message == std::string("unnamed") ? "8\t\tsrc/fill.cu" : "9\t\tsrc/fill.cu"));
    add(f, trace::kFaultHasThread);
  }
  run();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& found : result.findings) {
    EXPECT_EQ(found.kind, "kernel-fault");
    EXPECT_EQ(found.severity, Severity::kWarning);
    const bool is_unnamed =
      found.message.find("fill.cu:8 with a mask that lacks") != found.message.npos;
    EXPECT_NE(found.advice.find(is_unnamed ? "__ballot_sync()" : "give this mask"),
              std::string::npos);
  }
}

TEST_F(BlockFaults, AShuffleFromNoLaneIsAWarning) {
  MadeFault f;
  fault(f, FaultKind::kUninitializedRead, launch())
    .message(log().text("no lane"))
    .access(FaultAccess::kLoad)
    .other_lines(log().text("9\t\tsrc/fill.cu"));
  add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "kernel-uninitialized-read");
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.message, "fill(float*, int) uses the result of a shuffle at fill.cu:8 from a "
                           "lane that has ended or that the mask does not name.");
  EXPECT_NE(found.advice.find("choose another value"), std::string::npos);
}

TEST_F(BlockFaults, AGlobalRaceShowsBothSidesAndTheMemory) {
  MadeFault f;
  fault(f, FaultKind::kGlobalRace, launch())
    .address(kA + 16)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore)
    .other_access(FaultAccess::kLoad)
    .other_lines(log().text("6\t\tsrc/fill.cu"))
    .other_block_index({0, 0, 0})
    .other_thread_index({3, 0, 0});
  add(f, trace::kFaultHasThread | trace::kFaultHasAddress | trace::kFaultHasOther |
           trace::kFaultOtherHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "global-race");
  EXPECT_EQ(found.severity, Severity::kError);
  EXPECT_NE(found.message.find("and a thread of another block reads them at fill.cu:6; nothing "
                               "orders the two."),
            std::string::npos)
    << found.message;
  EXPECT_EQ(labels(found), "accessed here|accessed here|launched here|allocated here");
  EXPECT_TRUE(found.address);
  EXPECT_NE(found.advice.find("__threadfence()"), std::string::npos);
}

TEST_F(BlockFaults, AGlobalRaceByHabitIsANote) {
  for (const char* message : {"same value", "poll", "flag", "relaxed"}) {
    MadeFault f;
    fault(f, FaultKind::kGlobalRace, launch())
      .message(log().text(message))
      .space(FaultSpace::kGlobal)
      .access(FaultAccess::kStore)
      .other_access(FaultAccess::kStore);
    add(f, trace::kFaultHasOther);
  }
  run();
  ASSERT_EQ(result.findings.size(), 4u);
  for (const ReportedFinding& found : result.findings) {
    EXPECT_EQ(found.severity, Severity::kNote);
    EXPECT_NE(found.message.find("the memory model"), std::string::npos) << found.message;
    EXPECT_NE(found.message.find("and another thread writes them"), std::string::npos);
  }
}

TEST_F(BlockFaults, LaunchesWithoutRacesStandUnderNotChecked) {
  for (int i = 0; i < 2; ++i)
    log().record({}, Made<trace::ExecutionFields>()
                       .op(trace::ExecutionOp::kRacesLeftOut)
                       .kernel(log().text("_Z4fillPfi"))
                       .reason(log().text("the launch has a million blocks or more")));
  run();
  EXPECT_TRUE(is_not_checked("global-race",
                             "races in global memory were not looked for everywhere in 2 launches "
                             "(fill(float*, int)): the launch has a million blocks or more"));
}

TEST_F(BlockFaults, WhatAnotherOrderShows) {
  for (const char* message : {"order 3 2", "result 4 1"}) {
    MadeFault f;
    fault(f, FaultKind::kGlobalRace, launch())
      .message(log().text(message))
      .address(kA + 16)
      .bytes(4)
      .space(FaultSpace::kGlobal)
      .access(FaultAccess::kStore)
      .other_access(FaultAccess::kStore);
    add(f, trace::kFaultHasAddress);
  }
  run();
  ASSERT_EQ(result.findings.size(), 2u);
  const ReportedFinding& race = result.findings[0];
  EXPECT_EQ(race.severity, Severity::kError);
  EXPECT_NE(
    race.message.find("nothing orders the two, seen in the order of --device-seed 3, of its "
                      "first 2 blocks alone"),
    std::string::npos)
    << race.message;
  const ReportedFinding& other = result.findings[1];
  EXPECT_EQ(other.severity, Severity::kNote);
  EXPECT_NE(other.message.find("fill(float*, int) leaves another value at"), std::string::npos);
  EXPECT_NE(other.message.find(", in the order of --device-seed 4, of its first block alone"),
            std::string::npos)
    << other.message;
}

// Line 8 meets line 6 in one launch, and line 6 meets line 8 in another.
TEST_F(BlockFaults, ARaceInBothDirectionsIsOne) {
  for (const bool swapped : {false, true}) {
    MadeFault f;
    fault(f, FaultKind::kSharedRace, launch())
      .count(swapped ? 5 : 2)
      .lines(log().text(swapped ? "6\t\tsrc/fill.cu" : "8\t\tsrc/fill.cu"))
      .other_function(log().text("_Z4fillPfi"))
      .other_lines(log().text(swapped ? "8\t\tsrc/fill.cu" : "6\t\tsrc/fill.cu"))
      .space(FaultSpace::kShared)
      .access(swapped ? FaultAccess::kStore : FaultAccess::kLoad)
      .other_access(swapped ? FaultAccess::kLoad : FaultAccess::kStore);
    add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  }
  const ReportedFinding& found = only();
  EXPECT_EQ(found.count, 7u);
  EXPECT_EQ(labels(found), "accessed here|first accessed here|launched here");
}

TEST_F(BlockFaults, SharedMemoryHasItsVariable) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(1024)
    .bytes(4)
    .space(FaultSpace::kShared)
    .access(FaultAccess::kStore)
    .neighbour(0)
    .neighbour_bytes(1024)
    .neighbour_space(FaultSpace::kShared)
    .neighbour_name(log().text("tile"));
  add(f);
  EXPECT_EQ(only().message,
            "fill(float*, int) writes 4 bytes of shared memory at offset 1,024, right behind the "
            "end of the variable tile (1.0 KiB).");
}

TEST_F(BlockFaults, AHangOfWhichTheDeviceSaysNoMore) {
  MadeFault f;
  fault(f, FaultKind::kHang, launch());
  add(f, trace::kFaultHasThread);
  EXPECT_EQ(only().message, "fill(float*, int) never ends: its threads go round at fill.cu:8, and "
                            "nothing changes any more.");
}

// The advice on other hangs would have something change what they wait for: here a start does.
TEST_F(BlockFaults, BlocksWithoutRoomAreToBeFewerOrToWaitForThoseBefore) {
  MadeFault f;
  fault(f, FaultKind::kHang, launch()).message(log().text("no room"));
  add(f, trace::kFaultHasThread);
  EXPECT_EQ(only().message,
            "fill(float*, int) never ends: blocks wait for others that cannot start, since no more "
            "than those have room on the device at a time; one of them waits at fill.cu:8.");
  EXPECT_TRUE(only().advice.starts_with("Launch no more blocks than the device has room for"));
}

TEST_F(BlockFaults, BarriersOnOneLineAreKnownByTheirInstructions) {
  const auto deadlock = [&](const char* here, const char* there, const char* other) {
    MadeFault f;
    fault(f, FaultKind::kDeadlock, launch())
      .lines(log().text(here))
      .instruction(log().text("barrier.sync 1, 64"))
      .other_lines(log().text(there))
      .other_instruction(log().text(other));
    add(f, trace::kFaultHasThread | trace::kFaultHasOther | trace::kFaultOtherHasThread);
  };
  deadlock("7\t\tsrc/fill.cu", "6\t\tsrc/fill.cu", "barrier.sync 2, 64");
  deadlock("8\t\tsrc/fill.cu", "8\t\tsrc/fill.cu", "barrier.sync 2, 64");
  deadlock("9\t\tsrc/fill.cu", "9\t\tsrc/fill.cu", "barrier.sync 1, 64");
  run();
  std::vector<std::string> messages;
  for (const ReportedFinding& found : result.findings)
    messages.push_back(found.message.substr(found.message.find(": ") + 2));
  std::ranges::sort(messages);
  EXPECT_EQ(
    messages,
    (std::vector<std::string>{
      "some wait at fill.cu:7, others at fill.cu:6.",
      "some wait at fill.cu:8 (barrier.sync 1, 64), others there as well (barrier.sync 2, 64).",
      "some wait at fill.cu:9, others at another barrier of that line."}));
}

TEST_F(BlockFaults, BarriersDeadlocksAssertsAndTheRest) {
  const struct {
    FaultKind kind;
    const char* finding;
    const char* words;
  } kCases[] = {
    {FaultKind::kBarrierDivergence, "barrier-divergence", "wait at a barrier at fill.cu:8"},
    {FaultKind::kDeadlock, "kernel-hang",
     "fill(float*, int) never ends: all threads of a block wait at fill.cu:8"},
    {FaultKind::kHang, "kernel-hang", "fill(float*, int) never ends: n > 0 at fill.cu:8"},
    {FaultKind::kAssert, "kernel-assert", "An assert in fill(float*, int) failed: n > 0"},
    {FaultKind::kTrap, "kernel-fault", "stopped at fill.cu:8 by a trap"},
    {FaultKind::kIllegalInstruction, "kernel-fault",
     "met an illegal instruction at fill.cu:8: n > 0"},
    {FaultKind::kStackOverflow, "kernel-fault", "more stack than there is"},
    {FaultKind::kInvalidJump, "kernel-fault", "calls what is no function"},
    {FaultKind::kOther, "kernel-fault", "met a fault at fill.cu:8: n > 0"},
    {FaultKind::kUnknown, "kernel-fault", "met a fault"}};
  const std::uint64_t order = launch();
  for (const auto& c : kCases) {
    MadeFault f;
    fault(f, c.kind, order).message(log().text("n > 0"));
    add(f, trace::kFaultHasThread);
  }
  run();
  for (const auto& c : kCases) {
    const bool found = std::ranges::any_of(result.findings, [&](const ReportedFinding& f) {
      return f.kind == c.finding && f.message.find(c.words) != std::string::npos;
    });
    EXPECT_TRUE(found) << c.words;
  }
}

} // namespace
} // namespace gmt::test
