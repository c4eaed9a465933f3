// SPDX-License-Identifier: Apache-2.0
// Findings about the device heap, on synthetic records of what kernels did. Each with its opposite.

#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

using trace::DeviceOp;
using trace::DeviceSpace;

TEST_F(DeviceHeapTest, WhatKernelsFreeIsNoFinding) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_malloc({.op = DeviceOp::kNewArray}, kQ, 64);
  device.device_free({}, kP);
  device.device_free({.op = DeviceOp::kDeleteArray}, kQ);
  device.device_free({}, 0);
  run_device();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(DeviceHeapTest, LeaksAreGroupedByKernelAndLine) {
  for (std::uint64_t grid = 1; grid <= 3; ++grid) {
    run_kernel(kStep, grid);
    for (unsigned i = 0; i < 10; ++i) {
      const std::uint64_t at = kP + grid * 0x100000 + i * 0x500;
      device.device_malloc({.grid = grid, .block = {1, 0, 0}, .thread = {i, 2, 0}}, at, 1024);
    }
  }
  device.device_malloc({.grid = 3, .site = 3}, kP, 100);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-leak device-heap-leak");
  const ReportedFinding& f =
    result.findings[1].bytes == 100 ? result.findings[0] : result.findings[1];
  EXPECT_EQ(
    f.message,
    "30.0 KiB of the device heap in 30 blocks, allocated by malloc in launches 1 to 3 of "
    "step(int*) at step.cu:12, was never freed; at 10.0 KiB a launch, 12.5 KiB with what the "
    // 1,280 bytes apart
    "allocator adds, the heap of 8.0 MiB is full at launch 656 at the latest.");
  EXPECT_EQ(f.count, 30u);
  EXPECT_EQ(f.bytes, 30u * 1024);
  ASSERT_EQ(labels(f), "allocated here|launched here");
  ASSERT_TRUE(f.stacks[0].device);
  EXPECT_EQ(f.stacks[0].device->kernel, "step(int*)");
  EXPECT_EQ(f.stacks[0].device->launch, 1u);
  EXPECT_EQ(f.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(f.stacks[0].device->thread, (std::array<std::uint32_t, 3>{0, 2, 0}));
  ASSERT_EQ(f.stacks[0].frames.size(), 1u);
  EXPECT_EQ(f.stacks[0].frames[0].function, "step(int*)");
  EXPECT_EQ(f.stacks[0].frames[0].file, "/src/step.cu");
  EXPECT_EQ(f.stacks[0].frames[0].line, 12u);
  EXPECT_EQ(address_of(f.stacks[1]), 0x400u);
  const ReportedFinding& helper =
    &f == &result.findings[0] ? result.findings[1] : result.findings[0];
  EXPECT_EQ(helper.stacks[0].frames[0].function, "make_node");
  EXPECT_EQ(helper.stacks[0].device->kernel, "step(int*)");
}

TEST_F(DeviceHeapTest, WhatIsAliveAfterASignalOrADeadContextIsNoLeak) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  run_device();
  EXPECT_EQ(find("device-heap-leak"), nullptr);
  EXPECT_TRUE(is_not_checked("device-heap-leak", "killed by SIGKILL"));
  trace.complete = "how=exited\nstatus=0\nsignal=0\ncore=0\n";
  kill_context(700);
  run();
  EXPECT_EQ(find("device-heap-leak"), nullptr);
  EXPECT_TRUE(is_not_checked("device-heap-leak", "a kernel failed"));
}

TEST_F(DeviceHeapTest, DoubleFreeShowsBothFreesAndTheAllocation) {
  run_kernel(kStep, 1);
  device.device_malloc({.thread = {1, 0, 0}}, kP, 64);
  run_kernel(kClean, 2, 0x410);
  device.device_free({.grid = 2, .site = 2, .thread = {2, 0, 0}}, kP);
  for (unsigned i = 0; i < 3; ++i)
    device.device_free({.grid = 2, .site = 2, .thread = {3 + i, 0, 0}}, kP);
  run_device();
  const ReportedFinding* f = find("device-heap-double-free");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->message,
            "free of 0x205dff920 in void ns::clean<int>(int*), which was already freed in void "
            "ns::clean<int>(int*): 64 bytes of the device heap allocated by malloc in step(int*).");
  EXPECT_EQ(f->count, 3u);
  ASSERT_EQ(labels(*f),
            "freed again here|launched here|first freed here|allocated here|launched here");
  EXPECT_EQ(f->stacks[0].device->thread.value()[0], 3u);
  EXPECT_EQ(f->stacks[2].device->thread.value()[0], 2u);
  EXPECT_EQ(f->stacks[3].device->thread.value()[0], 1u);
  EXPECT_EQ(address_of(f->stacks[1]), 0x410u);
  EXPECT_EQ(address_of(f->stacks[4]), 0x400u);
}

TEST_F(DeviceHeapTest, AnAddressGivenOutAgainIsNotFreedTwice) {
  run_kernel(kStep, 1);
  for (int i = 0; i < 3; ++i) {
    device.device_malloc({}, kP, 64);
    device.device_free({}, kP);
  }
  run_device();
  EXPECT_EQ(kinds(), "");
}

TEST_F(DeviceHeapTest, FreeInsideABlockNamesItAndTheOffset) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP + 16);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-invalid-free");
  EXPECT_EQ(
    result.findings[0].message,
    "free of 0x205dff930 in step(int*), which is 16 bytes inside a block that begins at 0x205dff920: 64 "
    "bytes of the device heap allocated by malloc in step(int*).");
  EXPECT_EQ(labels(result.findings[0]), "freed here|launched here|allocated here");
}

TEST_F(DeviceHeapTest, FreeOfSharedAndLocalMemory) {
  run_kernel(kStep, 1);
  device.device_free({.space = DeviceSpace::kShared}, 0x7f0012000010);
  device.device_free({.space = DeviceSpace::kLocal}, 0x7f00130000f0);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-invalid-free device-heap-invalid-free");
  EXPECT_NE(result.findings[0].message.find("which is shared memory of the thread block."),
            std::string::npos);
  EXPECT_NE(result.findings[1].message.find("which is local memory of the thread"),
            std::string::npos);
}

TEST_F(DeviceHeapTest, FreeOfWhatWasNeverAllocated) {
  run_kernel(kStep, 1);
  device.device_free({}, 0x12345670);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-invalid-free");
  EXPECT_NE(result.findings[0].message.find("which no malloc or new of a kernel gave out."),
            std::string::npos);
}

TEST_F(DeviceHeapTest, AFreeThatCudaAcceptedMeansCodeThatIsNotInstrumented) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_malloc({}, kQ, 64);
  device.device_free({}, kP + 0x200); // between the two
  device.device_free({}, kP);
  device.device_free({}, kQ);
  run_device();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "1 free in kernels"));
  kill_context(700);
  run();
  EXPECT_NE(find("device-heap-invalid-free"), nullptr);
}

TEST_F(DeviceHeapTest, ArrayFreedByDelete) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kNewArray}, kP, 64);
  device.device_free({.op = DeviceOp::kDelete}, kP);
  device.device_malloc({.op = DeviceOp::kNew}, kQ, 8);
  device.device_free({.op = DeviceOp::kDelete}, kQ);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-mismatched-free");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(
    f.message,
    "delete in step(int*) of 64 bytes of the device heap allocated by new[] in step(int*).");
  EXPECT_EQ(f.advice, "Free what new[] gave with delete[].");
}

TEST_F(DeviceHeapTest, AlignmentThatIsNoPowerOfTwo) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kAlignedMalloc, .alignment = 256}, kP, 64);
  device.device_malloc({.op = DeviceOp::kAlignedMalloc, .alignment = 48}, 0, 64);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-alignment");
  EXPECT_EQ(result.findings[0].message,
            "__nv_aligned_device_malloc in step(int*) asked for an alignment of 48, "
            "which is no power of two, and got NULL.");
  EXPECT_EQ(result.findings[0].advice, "Pass a power of two, such as 64.");
}

TEST_F(DeviceHeapTest, AlignmentThatIsNoPowerOfTwoAndABlockAllTheSame) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kAlignedMalloc, .alignment = 48}, kP, 64);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-alignment");
  EXPECT_EQ(
    result.findings[0].message,
    "__nv_aligned_device_malloc in step(int*) asked for an alignment of 48, which is no power of two; the block "
    "need not be aligned at all.");
}

TEST_F(DeviceHeapTest, BlocksFreedElsewhereAreNoted) {
  log().record({.api = "cuStreamCreate"},
               Made<trace::LifeFields>()
                 .handle(0x77)
                 .object(trace::ObjectClass::kStream)
                 .op(trace::LifeOp::kCreate)
                 .flags(1)); // non-blocking
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_malloc({.block = {1, 0, 0}}, kQ, 64);
  device.device_free({.block = {2, 0, 0}}, kQ); // another block
  run_kernel(kClean, 2, 0x400, 0x77);
  device.device_free({.grid = 2, .site = 2}, kP); // another kernel, in another stream
  run_kernel(kStep, 3, 0x400, 0x77);
  device.device_malloc({.grid = 3}, kP, 64);
  run_kernel(kStep, 4);
  device.device_free({.grid = 4}, kP); // a later launch of the same
  run_device();
  ASSERT_EQ(kinds(), "device-heap-freed-elsewhere device-heap-freed-elsewhere");
  EXPECT_EQ(result.findings[0].severity, Severity::kNote);
  EXPECT_EQ(result.findings[0].message,
            "1 block of the device heap that one thread block of step(int*) allocated "
            "was freed by another.");
  EXPECT_EQ(
    result.findings[1].message,
    "1 block of the device heap allocated in step(int*) was freed in void ns::clean<int>(int*).");
}

TEST_F(DeviceHeapTest, FreesInAKernelThatSurelyComesLaterAreNotNoted) {
  run_kernel(kStep, 1, 0x400, 0x77);
  device.device_malloc({}, kP, 64);
  device.device_malloc({}, kQ, 64);
  run_kernel(kClean, 2, 0x400, 0x77); // in the same stream
  device.device_free({.grid = 2, .site = 2}, kP);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .stack = {0x600}},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  run_kernel(kClean, 3, 0x400, 0x78); // behind a wait of the host's
  device.device_free({.grid = 3, .site = 2}, kQ);
  run_kernel(kStep, 4, 0x400, 0x78);
  device.device_malloc({.grid = 4}, kP, 64);
  run_kernel(kClean, 5); // in the legacy stream, which waits for blocking ones
  device.device_free({.grid = 5, .site = 2}, kP);
  run_device();
  EXPECT_EQ(kinds(), "");
}

TEST_F(DeviceHeapTest, TwoThreadsStreamsPerThreadAreNotOne) {
  run_kernel(kStep, 1, 0x400, 2);
  device.device_malloc({}, kP, 64);
  run_kernel(kClean, 2, 0x400, 2);
  device.device_free({.grid = 2, .site = 2}, kP);
  run_device();
  EXPECT_EQ(kinds(), "device-heap-freed-elsewhere");
}

} // namespace
} // namespace gmt::test
