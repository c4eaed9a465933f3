// SPDX-License-Identifier: Apache-2.0
// Device heaps that are full, nearly full or will be: refused mallocs, limits, high water and what
// leaks foretell.

#include <bit>
#include <set>
#include <string>

#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

using trace::DeviceOp;

TEST_F(DeviceHeapTest, ExhaustedHeapNamesTheCallThatHelps) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 7 * kMiB);
  for (int i = 0; i < 4; ++i) device.device_malloc({}, 0, kMiB);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(
    f.message,
    "malloc of 1.0 MiB in step(int*) got NULL (the first of 4 times): 7.0 MiB in 1 block were "
    "alive on the device heap, whose limit is 8.0 MiB; the rest was the allocator's own or in pieces "
    "too small.");
  EXPECT_NE(f.advice.find("cudaDeviceSetLimit(cudaLimitMallocHeapSize, 33554432)"),
            std::string::npos);
  EXPECT_EQ(labels(f), "failed here|launched here");
}

// The time of a malloc is taken when it ends, of a warp's lanes all at once: what had its memory
// before is allocated after.
TEST_F(DeviceHeapTest, BlocksOfMallocsInProgressWereAliveWhenAnotherWasRefused) {
  run_kernel(kStep, 1);
  constexpr std::uint64_t t = 1'700'000'000'001'000'000;
  device.device_malloc({.thread = {0, 0, 0}, .time = t}, 0, kMiB);
  device.device_malloc({.thread = {1, 0, 0}, .time = t}, kP, kMiB);
  device.device_malloc({.thread = {2, 0, 0}, .time = t}, kP + 2 * kMiB, kMiB);
  device.device_malloc({.block = {1, 0, 0}, .time = t + 30'000}, kP + 4 * kMiB, 2 * kMiB);
  device.device_free({.thread = {1, 0, 0}, .time = t + 40'000}, kP);
  device.device_malloc({.thread = {1, 0, 0}, .time = t + 50'000}, kP, kMiB); // got what was freed
  device.device_free({.thread = {1, 0, 0}, .time = t + 60'000}, kP);
  device.device_free({.thread = {2, 0, 0}, .time = t + 60'000}, kP + 2 * kMiB);
  device.device_free({.block = {1, 0, 0}, .time = t + 60'000}, kP + 4 * kMiB);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  EXPECT_NE(result.findings[0].message.find("4.0 MiB in 3 blocks were alive"), std::string::npos)
    << result.findings[0].message;
}

TEST_F(DeviceHeapTest, SmallBlocksNeedALimitOfAMultiple) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 2 * kMiB); // stands for the small blocks that fill 8 MiB
  for (int i = 0; i < 6; ++i) device.device_malloc({}, 0, kMiB);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  EXPECT_NE(result.findings[0].advice.find("67108864"), std::string::npos)
    << result.findings[0].advice;
}

// Damaged: refused, yet with a pointer, and of no bytes.
TEST_F(DeviceHeapTest, ARefusalOfNothingWhereNothingWasAliveIsSurvived) {
  run_kernel(kStep, 1);
  trace::DeviceSlot slot{};
  slot.head =
    trace::pack({Kind::kDeviceAlloc, 1, trace::kNoApi,
                 static_cast<std::uint16_t>(DeviceOp::kMalloc), trace::kDeviceOutOfMemory});
  slot.time = 1'700'000'000'001'000'000;
  slot.ticket = trace::pack_ticket(100, 1);
  slot.who = trace::pack_who(1, 0, 0, 0);
  slot.a[0] = kP;
  slot.a[2] = 1;
  device.slot(std::bit_cast<trace::Slot>(slot));
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  EXPECT_NE(result.findings[0].advice.find("16777216"), std::string::npos)
    << result.findings[0].advice;
}

TEST_F(DeviceHeapTest, OfAHeapThatWasFullNothingIsPredicted) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 7 * kMiB);
  device.device_malloc({}, 0, kMiB);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted device-heap-leak");
  EXPECT_EQ(
    result.findings[1].message,
    "7.0 MiB of the device heap, allocated by malloc in launch 1 of step(int*) at step.cu:12, was "
    "never freed.");
}

TEST_F(DeviceHeapTest, NothingAskedForIsNotRefused) {
  run_kernel(kStep, 1);
  device.device_malloc({}, 0, 0);
  run_device();
  EXPECT_EQ(kinds(), "");
}

TEST_F(DeviceHeapTest, ALimitThatCameTooLateIsExplained) {
  run_kernel(kStep, 1);
  set_limit(64 * kMiB, 1);
  device.device_malloc({}, 0, 9 * kMiB);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted"); // and no api-error
  const ReportedFinding& f = result.findings[0];
  EXPECT_NE(f.message.find(
              "cudaDeviceSetLimit had asked for 64.0 MiB, but came too late and was refused with "
              "cudaErrorInvalidValue (1)."),
            std::string::npos);
  EXPECT_NE(f.advice.find("Move the call before the first launch: "
                          "cudaDeviceSetLimit(cudaLimitMallocHeapSize, 67108864)"),
            std::string::npos);
  EXPECT_EQ(labels(f), "failed here|launched here|limit refused here");
}

TEST_F(DeviceHeapTest, ALimitThatCudaRefusedForAnotherReasonDidNotComeTooLate) {
  run_kernel(kStep, 1);
  set_limit(64 * kMiB, 2);
  device.device_malloc({}, 0, 9 * kMiB);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  const ReportedFinding& f = result.findings[0];
  EXPECT_TRUE(
    f.message.ends_with("; cudaDeviceSetLimit had asked for 64.0 MiB, but was refused with "
                        "cudaErrorMemoryAllocation (2)."))
    << f.message;
  EXPECT_TRUE(f.advice.starts_with(
    "Call cudaDeviceSetLimit(cudaLimitMallocHeapSize, 33554432) before the first "
    "kernel is launched: it must come before any"))
    << f.advice;
  EXPECT_EQ(labels(f), "failed here|launched here|limit refused here");
}

TEST_F(DeviceHeapTest, ALimitRefusedBeforeTheFirstLaunchDidNotComeTooLate) {
  set_limit(64 * kMiB, 1);
  run_kernel(kStep, 1);
  device.device_malloc({}, 0, 9 * kMiB);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-exhausted");
  EXPECT_NE(result.findings[0].message.find("but was refused with cudaErrorInvalidValue (1)."),
            std::string::npos);
  EXPECT_TRUE(result.findings[0].advice.starts_with("Call cudaDeviceSetLimit("));
}

TEST_F(DeviceHeapTest, ARefusedLimitWithoutNeedIsAnOrdinaryError) {
  run_kernel(kStep, 1);
  set_limit(64 * kMiB, 1);
  run_device();
  EXPECT_EQ(kinds(), "api-error");
}

TEST_F(DeviceHeapTest, ANearlyFullHeapIsANote) {
  set_limit(16 * kMiB, 0);
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 13 * kMiB);
  device.device_free({}, kP);
  run_device();
  ASSERT_EQ(kinds(), "device-heap-high-water");
  EXPECT_EQ(result.findings[0].message,
            "Kernels held 13.0 MiB of the device heap at most, 81 % of its limit of 16.0 MiB.");
  set_limit(64 * kMiB, 0);
  run();
  EXPECT_EQ(kinds(), "");
}

// What is predicted where a kernel leaves a block in some of its launches.
class LeakingLaunches : public DeviceHeapTest {
protected:
  std::string prediction(std::uint64_t launches, const std::set<std::uint64_t>& leaking,
                         std::uint64_t bytes) {
    for (std::uint64_t grid = 1; grid <= launches; ++grid) {
      run_kernel(kStep, grid);
      if (leaking.contains(grid))
        device.device_malloc({.grid = grid}, kP + grid * 4 * bytes, bytes);
    }
    return predicted();
  }
  std::string predicted() {
    run_device();
    if (kinds() != "device-heap-leak") return kinds();
    const std::string& message = result.findings[0].message;
    return message.substr(message.find(" freed") + 6);
  }
};

TEST_F(LeakingLaunches, OfOneTheNextMayDoAsMuch) {
  EXPECT_EQ(prediction(1, {1}, kMiB),
            "; at 1.0 MiB a launch the heap of 8.0 MiB is full at launch 9 at the latest.");
}

TEST_F(LeakingLaunches, WhatOnlyTheFirstLeavesDoesNotGrow) {
  EXPECT_EQ(prediction(2, {1}, 5 * kMiB), "."); // high water is no matter of 62 %
}

TEST_F(LeakingLaunches, WhatTheFirstOfManyLeavesDoesNotGrow) {
  EXPECT_EQ(prediction(5, {1}, kMiB), ".");
}
TEST_F(LeakingLaunches, WhatTheLastOfManyLeavesDoesNotGrow) {
  EXPECT_EQ(prediction(5, {5}, kMiB), ".");
}
TEST_F(LeakingLaunches, WhatHasCeasedDoesNotGrow) {
  EXPECT_EQ(prediction(5, {1, 2, 3}, kMiB), ".");
}

// 3 MiB are alive, and the fifth launch was the last
TEST_F(LeakingLaunches, ThePaceIsThatOfAllLaunches) {
  EXPECT_EQ(prediction(5, {1, 2, 4}, kMiB),
            "; at 614.4 KiB a launch the heap of 8.0 MiB is full at launch 14 at the latest.");
}

TEST_F(LeakingLaunches, MemoryBetweenTwoBlocksIsNotAllTheAllocators) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_malloc({}, kP + kMiB, 64); // another's block had lain between
  EXPECT_EQ(predicted(),
            "; at 128 bytes a launch the heap of 8.0 MiB is full at launch 65,537 at the latest.");
}

// No launch has the grid's extents: how many there were is not known.
TEST_F(LeakingLaunches, OfAnUnknownNumberNothingIsPredicted) {
  device.grid(1, 4, 64);
  device.device_malloc({}, kP, kMiB);
  EXPECT_EQ(predicted(), ".");
}

} // namespace
} // namespace gmt::test
