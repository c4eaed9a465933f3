// SPDX-License-Identifier: Apache-2.0
// Faults of kernels that the simulated device recorded: kind, sentence, thread, the memory that
// they are about, the launch.
#include "tests/unit/analyzer/detectors/kernels/faults_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Faults, MemoryOfAnotherDeviceIsNoMistakeOfTheAddress) {
  log().context(1, 0xc0, 0, true);
  log().context(2, 0xc1, 1, true);
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x200}, .context = 2},
              trace::MemoryKind::kDevice, kB, 4000);
  MadeFault made;
  fault(made, FaultKind::kOutOfBounds, launch())
    .address(kB + 16)
    .bytes(4)
    .access(FaultAccess::kLoad);
  log().record({.context = 1, .flags = trace::kFaultHasThread | trace::kFaultHasAddress}, made);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.message,
            "fill(float*, int) reads 4 bytes at 0x7f32b0000010, 16 bytes into 3.9 KiB of device "
            "memory allocated by cudaMalloc on device 1, to which device 0 has no access.");
  EXPECT_NE(f.advice.find("cudaDeviceEnablePeerAccess for device 1 with device 0"),
            std::string::npos);
}

TEST_F(Faults, OutOfBoundsNamesTheBlockThreadAndLaunch) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(kA + 4076)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore)
    .count(76)
    .gpu_error(700);
  add(f);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "kernel-out-of-bounds");
  EXPECT_EQ(found.severity, Severity::kError);
  EXPECT_EQ(found.message,
            "fill(float*, int) writes 4 bytes at 0x7f32a0000fec, 76 bytes past the end of "
            "3.9 KiB of device memory allocated by cudaMalloc.");
  EXPECT_EQ(found.count, 76u);
  EXPECT_EQ(found.address, kA + 4076);
  EXPECT_EQ(labels(found), "accessed here|launched here|allocated here");
  ASSERT_TRUE(found.stacks[0].device);
  EXPECT_EQ(found.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(found.stacks[0].device->thread, (std::array<std::uint32_t, 3>{31, 2, 0}));
  ASSERT_EQ(found.stacks[0].frames.size(), 1u);
  EXPECT_EQ(found.stacks[0].frames[0].file, "src/fill.cu");
  EXPECT_EQ(found.stacks[0].frames[0].line, 8u);
  EXPECT_EQ(found.stacks[0].frames[0].function, "fill(float*, int)");
  EXPECT_EQ(address_of(found.stacks[1]), 0x400u);
  ASSERT_TRUE(found.fault);
  EXPECT_EQ(found.fault->source, DeviceFault::Source::kSimulatedDevice);
  EXPECT_EQ(found.fault->certainty, DeviceFault::Certainty::kExact);
  EXPECT_EQ(found.fault->operation, "store");
}

TEST_F(Faults, EqualFaultsOfSeveralLaunchesAreOneFinding) {
  for (int i = 0; i < 3; ++i) {
    MadeFault f;
    fault(f, FaultKind::kOutOfBounds, launch()).address(kA + 4000).bytes(4).count(2);
    add(f);
  }
  EXPECT_EQ(only().count, 6u);
}

TEST_F(Faults, InstructionsOfOneLineAreOneFinding) {
  const std::uint64_t order = launch();
  int i = 0;
  for (const FaultAccess access : {FaultAccess::kLoad, FaultAccess::kStore, FaultAccess::kLoad}) {
    MadeFault f;
    fault(f, FaultKind::kOutOfBounds, order)
      .address(kA + 4000 + 4 * static_cast<std::uint64_t>(i))
      .bytes(4)
      .access(access)
      .instruction(log().text("instruction " + std::to_string(i)));
    add(f);
    ++i;
  }
  EXPECT_EQ(only().count, 3u);
}

TEST_F(Faults, InstructionsWithoutALineAreFindingsOfTheirOwn) {
  const std::uint64_t order = launch();
  for (const char* text : {"ld.global.f32 %f1, [%rd1]", "st.global.f32 [%rd1], %f1"}) {
    MadeFault f;
    fault(f, FaultKind::kOutOfBounds, order)
      .lines(0)
      .address(kA + 4000)
      .bytes(4)
      .instruction(log().text(text));
    add(f);
  }
  run();
  EXPECT_EQ(result.findings.size(), 2u);
}

TEST_F(Faults, MemoryOfTheDeviceHeap) {
  MadeFault f;
  fault(f, FaultKind::kUseAfterFree, launch())
    .address(0x7f0000000010)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kLoad)
    .neighbour(0x7f0000000000)
    .neighbour_bytes(64);
  add(f, trace::kFaultHasAddress | trace::kFaultNeighbourFreed);
  EXPECT_EQ(only().message,
            "fill(float*, int) reads 4 bytes at 0x7f0000000010, 16 bytes into memory that was "
            "already freed: 64 bytes of the device heap.");
}

// A check by the bounds of a pointer: the address lies in another block.
TEST_F(Faults, TheBlockThatWasMeantIsNamedNotTheOneThatWasHit) {
  constexpr std::uint64_t kNext = kA + 8192;
  cuda_malloc(kNext, 400, 0x200);
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(kNext + 8)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore)
    .neighbour(kA)
    .neighbour_bytes(4000)
    .neighbour_space(FaultSpace::kGlobal);
  add(f, trace::kFaultHasAddress | trace::kFaultChecked);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "kernel-out-of-bounds");
  EXPECT_NE(found.message.find("4,200 bytes past the end of 3.9 KiB"), std::string::npos)
    << found.message;
  ASSERT_EQ(found.stacks.size(), 3u);
  EXPECT_EQ(found.stacks[2].label, "allocated here");
}

// --kernel-checks=libraries patches machine code, of which it knows no lines.
TEST_F(Faults, AnInstructionOfMachineCodeIsNamedByItsOffset) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(kA + 4000)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore)
    .lines(0)
    .instruction(log().text("machine code at 0x1a0"));
  add(f, trace::kFaultHasAddress | trace::kFaultChecked);
  const auto& accessed = only().stacks.at(0);
  EXPECT_EQ(accessed.label, "accessed here");
  ASSERT_EQ(accessed.frames.size(), 1u);
  EXPECT_EQ(accessed.frames[0].module, "machine code at 0x1a0");
  EXPECT_TRUE(accessed.frames[0].file.empty());
}

// The call that frees a block fetches what checks found before.
TEST_F(Faults, WhatACheckFoundBeforeItsBlockWasFreed) {
  const std::uint64_t launched = launch();
  cuda_free(kA);
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launched)
    .address(kA + 3998)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore);
  add(f, trace::kFaultHasAddress | trace::kFaultChecked);
  EXPECT_EQ(only().kind, "kernel-out-of-bounds");
  EXPECT_NE(only().message.find("across the end of 3.9 KiB"), std::string::npos) << only().message;
}

// A pool gives memory out again at once; reports of checks come later.
TEST_F(Faults, WhatACheckFoundBeforeItsMemoryWasAnotherBlocks) {
  cuda_free(kA);
  const std::uint64_t late = launch();
  cuda_malloc(kA, 5000, 0x101);
  MadeFault f;
  fault(f, FaultKind::kUseAfterFree, late)
    .address(kA + 16)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kStore);
  add(f, trace::kFaultHasAddress | trace::kFaultChecked);
  EXPECT_EQ(only().kind, "kernel-use-after-free");
  EXPECT_NE(only().message.find("16 bytes into memory that was already freed: 3.9 KiB"),
            std::string::npos)
    << only().message;
}

TEST_F(Faults, AcrossTheEndAndBeforeTheBeginning) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(kA + 3998)
    .bytes(4)
    .access(FaultAccess::kLoad);
  add(f);
  EXPECT_NE(only().message.find("reads 4 bytes at 0x7f32a0000f9e, across the end of 3.9 KiB"),
            std::string::npos);
}

// Its distance from a block that the kernel did not get says nothing.
TEST_F(Faults, BetweenTwoBlocksTheOneBelowIsMeantIfTheLaunchHasItAlone) {
  trace.info.push_back("device=simulated");
  constexpr std::uint64_t kNext = kA + 4608;
  cuda_malloc(kNext, 400, 0x200);
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch(0x400, {kA}))
    .address(kNext - 128)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kLoad);
  add(f);
  EXPECT_NE(only().message.find("480 bytes past the end of 3.9 KiB"), std::string::npos)
    << only().message;
}

TEST_F(Faults, BetweenTwoBlocksTheCloserOneIsMeant) {
  trace.info.push_back("device=simulated");
  constexpr std::uint64_t kNext = kA + 4608;
  cuda_malloc(kNext, 400, 0x200);
  for (const std::vector<std::uint64_t>& pointers :
       {std::vector<std::uint64_t>{}, {kNext}, {kA, kNext}}) {
    MadeFault f;
    fault(f, FaultKind::kOutOfBounds, launch(0x400, pointers))
      .address(kNext - 128)
      .bytes(4)
      .space(FaultSpace::kGlobal)
      .access(FaultAccess::kLoad);
    add(f);
  }
  EXPECT_NE(only().message.find("128 bytes before the beginning of 400 bytes"), std::string::npos);
}

TEST_F(Faults, NoMemoryNearby) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch()).address(0x1000).bytes(8).access(FaultAccess::kLoad);
  add(f);
  EXPECT_EQ(
    only().message,
    "fill(float*, int) reads 8 bytes at 0x1000, in no memory that CUDA gave out: 4,096 bytes "
    "behind a null pointer.");
}

TEST_F(Faults, UseAfterFreeShowsTheFree) {
  const std::uint64_t order = launch();
  cuda_free(kA, 0, 0x200);
  MadeFault f;
  fault(f, FaultKind::kUseAfterFree, order).address(kA + 16).bytes(4).access(FaultAccess::kStore);
  add(f);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.kind, "kernel-use-after-free");
  EXPECT_EQ(found.message,
            "fill(float*, int) writes 4 bytes at 0x7f32a0000010, 16 bytes into memory that was "
            "already freed: 3.9 KiB of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(found), "accessed here|launched here|freed here|allocated here");
}

TEST_F(Faults, Misaligned) {
  MadeFault f;
  fault(f, FaultKind::kMisaligned, launch()).address(kA + 1).bytes(4).access(FaultAccess::kStore);
  add(f);
  EXPECT_EQ(only().message,
            "fill(float*, int) writes 4 bytes at 0x7f32a0000001, which is no multiple of 4, 1 byte "
            "into 3.9 KiB of device memory allocated by cudaMalloc.");
  EXPECT_EQ(labels(only()), "accessed here|launched here|allocated here");
}

TEST_F(Faults, UninitializedReadIsAWarning) {
  MadeFault f;
  fault(f, FaultKind::kUninitializedRead, launch())
    .address(kA + 8)
    .bytes(4)
    .access(FaultAccess::kLoad);
  add(f);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.message,
            "fill(float*, int) reads 4 bytes that nothing wrote at 0x7f32a0000008, 8 bytes into "
            "3.9 KiB of device memory allocated by cudaMalloc.");
}

TEST_F(Faults, AnUninitializedValueShowsItsLoadAndItsUse) {
  MadeFault f;
  fault(f, FaultKind::kUninitializedRead, launch())
    .address(kA + 8)
    .bytes(4)
    .access(FaultAccess::kLoad)
    .other_lines(log().text("9\t\tsrc/fill.cu"))
    .other_block_index({1, 0, 0})
    .other_thread_index({31, 2, 0});
  add(f, trace::kFaultHasThread | trace::kFaultHasAddress | trace::kFaultHasOther |
           trace::kFaultOtherHasThread);
  EXPECT_EQ(labels(only()), "accessed here|used here|launched here|allocated here");
}

TEST_F(Faults, AnUninitializedValueOfNoKnownLoad) {
  MadeFault f;
  fault(f, FaultKind::kUninitializedRead, launch());
  add(f, trace::kFaultHasThread);
  const ReportedFinding& found = only();
  EXPECT_EQ(found.message, "fill(float*, int) uses a value that nothing wrote at fill.cu:8.");
  EXPECT_EQ(labels(found), "used here|launched here");
}

TEST_F(Faults, InlinedFunctionsAndGraphs) {
  const std::uint64_t made = trace.next_order();
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}, .order = made},
               Made<trace::GraphKernelFields>().function(kFaulty).graph(0x70).node(0x71));
  const std::uint64_t order = trace.next_order();
  log().record({.api = "cuGraphLaunch", .stack = {0x700}, .order = order},
               Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, order)
    .made(made)
    .node(0x71)
    .lines(log().text("3\t_Z3getPfi\tget.h\n9\t_Z4fillPfi\tsrc/fill.cu"))
    .address(0x10)
    .access(FaultAccess::kLoad)
    .bytes(4);
  add(f);
  const ReportedFinding& found = only();
  EXPECT_EQ(labels(found), "accessed here|graph launched here|node made here");
  ASSERT_EQ(found.stacks[0].frames.size(), 2u);
  EXPECT_TRUE(found.stacks[0].frames[0].inlined);
  EXPECT_EQ(found.stacks[0].frames[0].function, "get(float*, int)");
  EXPECT_FALSE(found.stacks[0].frames[1].inlined);
}

TEST_F(Faults, DamagedRecordsGiveNothingWrong) {
  log().record({.flags = 0xffff}, MadeFault());
  MadeFault f;
  f.fault(static_cast<FaultKind>(77))
    .lines(77)
    .kernel(77)
    .other_lines(77)
    .space(FaultSpace::kUnknown);
  f.bytes(UINT64_MAX).address(UINT64_MAX).neighbour_bytes(UINT64_MAX);
  log().record({.flags = 0xffff}, f);
  run();
  EXPECT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& found : result.findings) EXPECT_EQ(found.kind, "kernel-fault");
}

} // namespace
} // namespace gmt::test
