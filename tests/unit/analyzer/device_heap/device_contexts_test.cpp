// SPDX-License-Identifier: Apache-2.0
// How contexts with device heaps end: of an error that a free in a kernel explains, or by a reset.

#include "analyzer/base/text_format.h"
#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

using trace::DeviceOp;

TEST_F(DeviceHeapTest, AnErrorThatAFreeInAKernelExplainsIsANoteThatNamesIt) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP);
  device.device_free({}, kP);
  kill_context(719);
  kill_context(719);
  run_device();
  const ReportedFinding* f = find("api-error");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kNote);
  EXPECT_EQ(f->message, "A kernel failed: cudaErrorLaunchFailure (719) was reported by "
                        "cudaDeviceSynchronize, and 1 later call failed because of it.");
  EXPECT_EQ(f->advice,
            "Correct what device-heap-double-free reports: such a free ends its kernel, and the "
            "context with it.");
  ASSERT_NE(find("device-heap-double-free"), nullptr);
}

TEST_F(DeviceHeapTest, TheNewestFreeBeforeTheErrorExplainsIt) {
  run_kernel(kStep, 1);
  cuda_malloc(0x7f4400000000, 4096);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP + 16);
  device.device_free({}, 0x7f4400000000);
  kill_context(700);
  run_device();
  const ReportedFinding* f = find("api-error");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kNote);
  EXPECT_TRUE(f->advice.starts_with("Correct what heap-mixed reports")) << f->advice;
  EXPECT_NE(find("heap-mixed"), nullptr);
}

TEST_F(DeviceHeapTest, AnErrorThatNoFreeInAKernelExplainsIsAFault) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kNew}, kP, 64);
  device.device_free({.op = DeviceOp::kDeleteArray}, kP); // CUDA accepts that
  kill_context(719);
  run_device();
  const ReportedFinding* f = find("kernel-fault");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kError);
  EXPECT_NE(f->advice.find("compute-sanitizer"), std::string::npos);
}

TEST_F(DeviceHeapTest, AnAssertionIsNoFreesDoing) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP);
  device.device_free({}, kP);
  kill_context(710);
  run_device();
  ASSERT_NE(find("kernel-fault"), nullptr);
  EXPECT_EQ(find("kernel-fault")->severity, Severity::kError);
}

class DeviceReset : public DeviceHeapTest {
protected:
  void reset(std::uint64_t ordinal = 0) {
    log().life({.api = "cuDevicePrimaryCtxReset_v2", .via = "cudaDeviceReset", .stack = {0x700}},
               ordinal, trace::ObjectClass::kPrimaryContext, trace::LifeOp::kReset);
  }
  // The context's second life, with a ring of its own.
  const WordedAnalysis& run_both() {
    second.drained();
    std::filesystem::create_directories(directory.path() / "trace");
    second.write(directory.path() / "trace", "device-1");
    return run_device();
  }
  DeviceLogWriter second;
};

TEST_F(DeviceReset, WhatItTakesIsALeakAlsoOfAProgramThatIsKilledLater) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_malloc({}, kQ, 64);
  device.device_free({}, kQ);
  reset();
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  run_device();
  const ReportedFinding* f = find("device-heap-leak");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->count, 1u);
  EXPECT_TRUE(f->message.starts_with(
    "64 bytes of the device heap, allocated by malloc in launch 1 of step(int*) at step.cu:12, was still "
    "not freed when cudaDeviceReset ended its context"))
    << f->message;
  EXPECT_NE(f->advice.find("in a later launch before cudaDeviceReset:"), std::string::npos)
    << f->advice;
  EXPECT_EQ(labels(*f), "allocated here|launched here|context ended here");
  EXPECT_EQ(address_of(f->stacks[2]), 0x700u);
}

TEST_F(DeviceReset, OfAnotherDeviceEndsNothing) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  reset(1);
  run_device();
  const ReportedFinding* f = find("device-heap-leak");
  ASSERT_NE(f, nullptr);
  EXPECT_NE(f->message.find("was never freed"), std::string::npos);
}

// Grids are counted from 1 again: the launches before the reset are not theirs.
TEST_F(DeviceReset, LaunchesBelongToTheLifeTheyWereMadeIn) {
  for (std::uint64_t grid = 1; grid <= 3; ++grid) run_kernel(kStep, grid, 0x400 + grid);
  device.device_malloc({.grid = 3}, kP, 64);
  reset();
  second.site(1, "step", "/src/step.cu", 12);
  launch(kStep, 4, 64, 0x480);
  second.grid(1, 4, 64);
  second.device_malloc({.grid = 1}, kQ, 128);
  run_both();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& f : result.findings) {
    ASSERT_EQ(f.kind, "device-heap-leak");
    ASSERT_GE(f.stacks.size(), 2u);
    const bool ended = f.message.find("cudaDeviceReset") != std::string::npos;
    EXPECT_EQ(f.bytes, ended ? 64u : 128u);
    EXPECT_EQ(address_of(f.stacks[1]), ended ? 0x403u : 0x480u);
  }
}

// The second life's one launch is all that it had, though the kernel's third.
TEST_F(DeviceReset, LaunchesOfAnotherLifeSlowNoGrowth) {
  for (std::uint64_t grid = 1; grid <= 2; ++grid) run_kernel(kStep, grid);
  reset();
  second.site(1, "step", "/src/step.cu", 12);
  launch(kStep, 4, 64);
  second.grid(1, 4, 64);
  second.device_malloc({.grid = 1}, kQ, kMiB);
  run_both();
  ASSERT_EQ(kinds(), "device-heap-leak");
  EXPECT_NE(result.findings[0].message.find("in launch 3 of step(int*)"), std::string::npos);
  EXPECT_NE(result.findings[0].message.find(
              "; at 1.0 MiB a launch the heap of 8.0 MiB is full at launch 11 at"),
            std::string::npos)
    << result.findings[0].message;
}

// Reset at 3 s of the host's clock.
TEST_F(DeviceReset, TheDevicesClockMayBeAheadOfTheHosts) {
  constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;
  constexpr std::uint64_t kSecond = 1'000'000; // of 1,000 ticks each, and a tick is a nanosecond
  trace.info.push_back(cat({"tsc=1000\nmonotonic_ns=0\nrealtime_ns=", std::to_string(kEpoch)}));
  trace.complete += "tsc=10001000\nmonotonic_ns=10000000\n";
  launch(kStep, 4, 64);
  device.grid(1, 4, 64, kEpoch + 3'001'000'000);
  device.device_malloc({}, kP, 64);
  log().record({.api = "cuDevicePrimaryCtxReset_v2",
                .via = "cudaDeviceReset",
                .stack = {0x700},
                .order = 3 * kSecond},
               Made<trace::LifeFields>()
                 .object(trace::ObjectClass::kPrimaryContext)
                 .op(trace::LifeOp::kReset));
  run_device();
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(labels(result.findings[0]), "allocated here|launched here|context ended here");
}

TEST_F(DeviceReset, WhatEveryLifeOfAContextLeavesIsOneFinding) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  reset();
  second.site(1, "step", "/src/step.cu", 12);
  launch(kStep, 4, 64, 0x480);
  second.grid(1, 4, 64);
  second.device_malloc({.grid = 1}, kP, 64);
  second.device_malloc({.grid = 1}, kQ, 64);
  reset();
  run_both();
  ASSERT_EQ(result.findings.size(), 1u);
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.count, 3u);
  EXPECT_EQ(f.bytes, 192u);
  EXPECT_EQ(
    f.message,
    "192 bytes of the device heaps of 2 contexts in 3 blocks, allocated by malloc in step(int*) "
    "at step.cu:12, were still not freed when cudaDeviceReset ended these.");
  EXPECT_EQ(labels(f), "allocated here|launched here|context ended here");
}

TEST_F(DeviceReset, TheLastReleaseOfAPrimaryContextEndsItsHeap) {
  const auto life = [&](trace::LifeOp op, std::uint64_t from) {
    log().life({.api = op == trace::LifeOp::kRetain ? "cuDevicePrimaryCtxRetain"
                                                    : "cuDevicePrimaryCtxRelease_v2",
                .stack = {from}},
               0, trace::ObjectClass::kPrimaryContext, op);
  };
  life(trace::LifeOp::kRetain, 0x6f0);
  life(trace::LifeOp::kRetain, 0x6f1);
  run_kernel(kStep, 1, 0x401);
  life(trace::LifeOp::kRelease, 0x700); // not yet
  run_kernel(kStep, 2, 0x402);
  device.device_malloc({.grid = 2}, kP, 64);
  life(trace::LifeOp::kRelease, 0x701);
  life(trace::LifeOp::kRetain, 0x6f2);
  second.site(1, "step", "/src/step.cu", 12);
  launch(kStep, 4, 64, 0x480);
  second.grid(1, 4, 64);
  second.device_malloc({.grid = 1}, kQ, 128);
  run_both();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& f : result.findings) {
    ASSERT_EQ(f.kind, "device-heap-leak");
    const bool ended = f.bytes == 64;
    EXPECT_EQ(labels(f), ended ? "allocated here|launched here|context ended here"
                               : "allocated here|launched here");
    EXPECT_EQ(address_of(f.stacks[1]), ended ? 0x402u : 0x480u);
    if (ended) {
      EXPECT_EQ(address_of(f.stacks[2]), 0x701u);
    }
  }
}

TEST_F(DeviceHeapTest, LeaksOfTwoContextsAreOne) {
  DeviceLogWriter second;
  log().context(2, 0xc2, 0, false);
  second.site(1, "step", "/src/step.cu", 12);
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  log().record({.api = "cuLaunchKernel", .stack = {0x801}, .context = 2},
               Made<trace::LaunchFields>().function(kStep).grid({4, 1, 1}).block({64, 1, 1}));
  second.grid(1, 4, 64);
  second.device_malloc({}, kQ, 128);
  second.drained(2);
  std::filesystem::create_directories(directory.path() / "trace");
  second.write(directory.path() / "trace", "device-1");
  run_device();
  ASSERT_EQ(kinds(), "device-heap-leak");
  EXPECT_EQ(result.findings[0].message,
            "192 bytes of the device heaps of 2 contexts in 2 blocks, allocated by malloc in "
            "step(int*) at step.cu:12, were never freed.");
  EXPECT_EQ(result.findings[0].advice,
            "Call free for each block in a kernel, in this one or in a later launch: the host's "
            "cudaFree cannot free it.");
}

// Launches are counted by context. Those that name none were made in the first, before there was
// another.
TEST_F(DeviceHeapTest, LaunchesBelongToTheirContext) {
  DeviceLogWriter second;
  log().context(2, 0xc2, 1, true);
  second.site(1, "step", "/src/step.cu", 12);
  const auto launch_in = [&](std::uint16_t context, std::uint64_t from) {
    log().record({.api = "cuLaunchKernel", .stack = {from}, .context = context},
                 Made<trace::LaunchFields>().function(kStep).grid({4, 1, 1}).block({64, 1, 1}));
  };
  for (std::uint64_t i = 1; i <= 3; ++i) launch_in(0, 0x400 + i);
  for (std::uint64_t i = 1; i <= 2; ++i) {
    launch_in(2, 0x800 + i);
    launch_in(1, 0x403 + i);
  }
  for (std::uint64_t grid = 1; grid <= 5; ++grid) device.grid(grid, 4, 64);
  device.device_malloc({.grid = 5}, kP, 64);
  for (std::uint64_t grid = 1; grid <= 2; ++grid) second.grid(grid, 4, 64);
  second.device_malloc({.grid = 2}, kQ, 128);
  second.drained(2);
  std::filesystem::create_directories(directory.path() / "trace");
  second.write(directory.path() / "trace", "device-1");
  run_device();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& f : result.findings) {
    const bool first = f.bytes == 64;
    EXPECT_TRUE(f.message.starts_with(first
                                        ? "64 bytes of the device heap of device 0, allocated by"
                                        : "128 bytes of the device heap of device 1, allocated by"))
      << f.message;
    EXPECT_EQ(f.stacks[0].device->launch, first ? 5u : 2u);
    EXPECT_EQ(address_of(f.stacks[1]), first ? 0x405u : 0x802u);
  }
}

} // namespace
} // namespace gmt::test
