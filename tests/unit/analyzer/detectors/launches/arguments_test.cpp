// SPDX-License-Identifier: Apache-2.0
// use-after-free of kernels' arguments: what a word means that leads into freed memory beside
// memory that lives. In graphs: graph_arguments_test.cpp.

#include <cstring>

#include "tests/unit/analyzer/detectors/launches/arguments_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Arguments, EndOfAnotherArgumentsBlockHasTwoReadings) {
  free_behind();
  launch({{kA, 0}, {kBehind, 1}});
  launch({{kA + 4096, 0}, {kBehind, 1}}); // points inside
  EXPECT_EQ(verdict(), "warning 2");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(
    f.message,
    "The launch of sum(float const*, float const*, unsigned long) passes as parameter 2 the pointer "
    "0x7f32a0100000, memory that was already freed: 1.0 MiB of device memory allocated by cudaMalloc; or one "
    "past the end of 1.0 MiB of device memory allocated by cudaMalloc, into which parameter 1 points.");
  EXPECT_EQ(labels(f), "launched here|freed here|allocated here|neighbour allocated here");
  EXPECT_EQ(address_of(f.stacks[3]), 0x100u);
}

TEST_F(Arguments, BlockThatIsNoArgumentIsNoExcuse) {
  free_behind();
  launch({{kBehind, 1}});
  launch({{kB, 0}, {kBehind, 1}});
  EXPECT_EQ(verdict(), "error 2");
  EXPECT_EQ(labels(result.findings[0]), "launched here|freed here|allocated here");
}

TEST_F(Arguments, EndIsWhatWasAskedFor) {
  cuda_malloc(kB, kMiB - 100, 0x102); // takes its granules to the end
  cuda_malloc(kB + kMiB, kMiB, 0x101);
  cuda_free(kB + kMiB, 0, 0x201);
  launch({{kB, 0}, {kB + kMiB, 1}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(Arguments, AnotherLaunchShowsThatItIsAnEnd) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    if (first) launch({{kA, 0}, {kBehind, 1}}); // nothing was ever there
    free_behind();
    launch({{kA, 0}, {kBehind, 1}});
    cuda_malloc(kC, 4096, 0x103);
    if (!first) launch({{kC, 0}, {kC + 4096, 1}});
    cuda_free(kC);
    EXPECT_EQ(verdict(), "");
  }
}

TEST_F(Arguments, EndsElsewhereShowNothing) {
  kernel(kOther, "_Z5otherPKfS0_m", {8, 8, 8});
  cuda_malloc(kC, 4096, 0x103);
  launch({{kC, 0}, {kC + 4096, 1}}, kOther);  // another kernel
  launch({{kC, 1}, {kC + 4096, 0}});          // another parameter
  launch({{kA, 0}, {kC + 4096, 1}});          // not of an argument's block
  launch({{kC, 0}, {kC + 4096, 1}}, kSum, 1); // refused
  cuda_malloc(kC + 4096, 4096, 0x104);
  launch({{kC, 0}, {kC + 4096, 1}}); // may be the block behind
  free_behind();
  launch({{kA, 0}, {kBehind, 1}});
  EXPECT_EQ(verdict(), "warning 1");
}

TEST_F(Arguments, EndInsideAFreedBlockIsNothingElse) {
  cuda_malloc(kC, kMiB, 0x101);
  cuda_free(kC, 0, 0x201);
  cuda_malloc(kC, 4096, 0x102); // takes a part of it
  launch({{kC, 0}, {kC + 4096, 1}});
  EXPECT_EQ(verdict(), "");
  free_behind();
  launch({{kA, 0}, {kBehind, 1}});
  EXPECT_EQ(verdict(), "");
  launch({{kB, 0}, {kC + 4096, 1}}); // no argument's end
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(Arguments, FieldsOfAStructureMayBeAnEnd) {
  kernel(kOther, "_Z4span4Span", {16});
  free_behind();
  launch({{kA, 0}, {kBehind, 0}}, kOther);
  EXPECT_EQ(verdict(), "warning 1");
  launch({{kA, 0}, {kA + kMiB / 2, 0}}, kOther); // in the middle: shows nothing
  EXPECT_EQ(verdict(), "warning 1");
  cuda_malloc(kC, 4096, 0x103);
  launch({{kC, 0}, {kC + 4096, 0}}, kOther);
  EXPECT_EQ(verdict(), "");
}

TEST_F(Arguments, EndOfRegisteredMemoryBesideFreedPinned) {
  constexpr std::uint64_t kRegistered = 0x7f0000100000;
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, MemoryKind::kRegistered,
              kRegistered, 4096);
  cuda_malloc_host(kRegistered + 4096, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kRegistered + 4096);
  launch({{kRegistered, 0}, {kRegistered + 4096, 1}});
  EXPECT_EQ(verdict(), "warning 1");
}

TEST_F(Arguments, RegionsOfAPoolLieSideBySide) {
  const auto region = [&](std::uint64_t address) {
    log().alloc({.api = "nvtxMemRegionsRegister"}, MemoryKind::kSubAllocation, address, 4096, 0,
                {0, 0, 0, 0, 0, 0x77, 0});
  };
  const auto give_back = [&](std::uint64_t address) {
    log().release({.api = "nvtxMemRegionsUnregister"}, FreeFunction::kRegionUnregister, address);
  };
  const auto pool = [&](trace::LifeOp op) {
    log().record({.api = "nvtxMemHeapRegister"}, Made<trace::LifeFields>()
                                                   .handle(0x77)
                                                   .object(trace::ObjectClass::kUserHeap)
                                                   .op(op)
                                                   .value(kA)
                                                   .bytes(kMiB));
  };
  pool(trace::LifeOp::kCreate);
  region(kA);
  region(kA + 4096);
  give_back(kA + 4096);
  launch({{kA, 0}, {kA + 4096, 1}});
  EXPECT_EQ(verdict(), "warning 1");
  region(kA + 65536);
  launch({{kA + 65536, 0}, {kA + 65536 + 4096, 1}}); // nothing was there
  EXPECT_EQ(verdict(), "");
}

// What has a freed block's address may be malloc's by now: a kernel cannot read that either.
TEST_F(Arguments, FreedPinnedAndManagedMemory) {
  cuda_malloc_host(kB, 4096);
  log().release({.api = "cuMemFreeHost", .stack = {0x210}}, FreeFunction::kMemFreeHost, kB);
  launch({{kB + 8, 0}});
  EXPECT_EQ(verdict(), "error 1");
  EXPECT_NE(result.findings[0].message.find(
              "8 bytes into memory that was already freed: 4.0 KiB of pinned"),
            std::string::npos)
    << result.findings[0].message;
  log().alloc({.api = "cuMemAllocManaged", .via = "cudaMallocManaged"}, MemoryKind::kManaged, kC,
              4096);
  cuda_free(kC, 0, 0x220);
  launch({{kC, 0}});
  run();
  ASSERT_EQ(kinds(), "use-after-free use-after-free");
  EXPECT_EQ(result.findings[1].severity, Severity::kError);
}

TEST_F(Arguments, HostMemoryThatCudaKnowsAgain) {
  cuda_malloc_host(kB, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  log().alloc({.api = "cuMemHostRegister_v2"}, MemoryKind::kRegistered, kB, 4096);
  launch({{kB, 0}});
  EXPECT_EQ(verdict(), "");
}

TEST_F(Arguments, GpuThatReadsPageableMemoryMayReadWhatMallocGot) {
  log().record({}, Made<trace::DeviceFields>()
                     .bytes(96ull << 30)
                     .texture_alignment(512)
                     .texture_pitch_alignment(32)
                     .surface_alignment(512)
                     .reads_pageable_memory(1)
                     .uses_host_page_tables(0)
                     .compute_capability(90)
                     .concurrent_managed(1));
  cuda_malloc_host(kB, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kB);
  launch({{kB, 0}});
  EXPECT_EQ(verdict(), "warning 1");
}

TEST_F(Arguments, NumbersAreWarnings) {
  cuda_free(kA);
  launch({{kA + 12345, 2}}); // unsigned long
  EXPECT_EQ(verdict(), "warning 1");
  EXPECT_NE(result.findings[0].message.find("passes as parameter 3 the number 0x"),
            std::string::npos);
  EXPECT_NE(result.findings[0].advice.find("only if the kernel takes the number for an address"),
            std::string::npos);
}

// --guard: a kernel that used the field would have faulted.
TEST_F(Arguments, FieldOfFencedMemoryCountsWhenTheContextHasDied) {
  kernel(kOther, "_Z4span4Span", {16});
  log().alloc({.api = "cuMemAlloc", .stack = {0x105}, .flags = trace::kAllocFenced},
              MemoryKind::kDevice, kC, 4096);
  cuda_free(kC);
  launch({{kA, 0}, {kC, 0}}, kOther);
  EXPECT_EQ(verdict(), "");
  launch({{kA, 0}, {kC, 0}}, kOther, 700);
  EXPECT_EQ(verdict(), "warning 1");
}

TEST_F(Arguments, FieldOfALaunchThatIsDoneHasKilledNothing) {
  kernel(kOther, "_Z4span4Span", {16});
  log().alloc({.api = "cuMemAlloc", .stack = {0x105}, .flags = trace::kAllocFenced},
              MemoryKind::kDevice, kC, 4096);
  cuda_free(kC);
  launch({{kA, 0}, {kC, 0}}, kOther);
  log().record({.api = "cuCtxSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  launch({{kA, 0}}, kOther, 700);
  EXPECT_EQ(verdict(), "");
}

// Structures of PyTorch hold what the stack held before.
TEST_F(Arguments, FieldOfALibrarysKernelCountsWhenTheContextHasDied) {
  trace.modules = {"+\t1\t300\t500\t0\t-\t/venv/torch/lib/libtorch_cuda.so"};
  kernel(kOther, "_Z4span4Span", {16});
  cuda_free(kA);
  launch({{kA, 0}}, kOther);
  EXPECT_EQ(verdict(), "");
  launch({{kA, 0}}, kOther, 700);
  EXPECT_EQ(verdict(), "warning 1");
}

// getrf_pivot gets a pointer that an earlier call was given.
TEST_F(Arguments, PointersOfCuSolverCountWhenTheContextHasDied) {
  cuda_free(kA);
  for (const std::string library : {"libcublas.so.13", "libcusolver.so.12"}) {
    SCOPED_TRACE(library);
    trace.modules = {"+\t1\t300\t500\t0\t-\t/venv/nvidia/lib/" + library};
    launch({{kA, 0}});
    EXPECT_EQ(verdict(), library == "libcublas.so.13" ? "error 1" : "");
  }
  launch({{kA, 0}}, kSum, 700);
  EXPECT_EQ(verdict(), "error 2");
}

TEST_F(Arguments, FencedMemoryAsAWholeParameterIsAMistakeAtOnce) {
  log().alloc({.api = "cuMemAlloc", .stack = {0x105}, .flags = trace::kAllocFenced},
              MemoryKind::kDevice, kC, 4096);
  cuda_free(kC);
  launch({{kC, 0}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(Arguments, TypesAreTakenFromTheName) {
  cuda_free(kA);
  const auto severity = [&](const std::string& type) {
    kernel(kOther, "_Z5other" + type, {8});
    ++from_; // findings of their own
    launch({{kA + 64, 0}}, kOther);
    run();
    return result.findings.empty() ? Severity::kNote : result.findings.back().severity;
  };
  for (const char* type : {"l", "m", "x", "y", "d", "5uint2", "6float2", "7ushort4"}) {
    EXPECT_EQ(severity(type), Severity::kWarning) << type;
  }
  for (const char* type : {"Pl", "PKv", "PPKm", "7Pointer", "N2ns4longE"}) {
    EXPECT_EQ(severity(type), Severity::kError) << type;
  }
}

TEST_F(Arguments, PointersThatCountFromOne) {
  cuda_malloc(kBehind, kMiB, 0x101);
  cuda_free(kA, 0, 0x200);
  launch({{kBehind - 4, 0}});
  EXPECT_EQ(verdict(), "warning 1");
  EXPECT_EQ(
    result.findings[0].message,
    "The launch of sum(float const*, float const*, unsigned long) passes as parameter 1 the pointer "
    "0x7f32a00ffffc, 1,048,572 bytes into memory that was already freed: 1.0 MiB of device memory allocated by "
    "cudaMalloc; or, as a pointer that counts from 1, 4 bytes before 1.0 MiB of device memory allocated by "
    "cudaMalloc.");
  cuda_free(kBehind);
}

TEST_F(Arguments, FurtherBeforeABlockIsNoElement) {
  cuda_malloc(kBehind, kMiB, 0x101);
  cuda_free(kA, 0, 0x200);
  launch({{kBehind - 4096, 0}});
  EXPECT_EQ(verdict(), "error 1");
}

} // namespace
} // namespace gmt::test
