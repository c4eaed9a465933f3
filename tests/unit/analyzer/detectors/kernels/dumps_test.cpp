// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs' core dumps: what the heap makes of their addresses. Never is a thread blamed, or
// an address named, that the evidence does not carry.

#include "tests/unit/analyzer/detectors/kernels/dumps_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Dumps, AddressesPastTheEndAreOutOfBounds) {
  for (int i = 0; i < 3; ++i) launch(0x3f0, kOther);
  launch();
  const ReportedFinding& f = only(fault(14, "warp", kStore, lanes(224, 32, kA + 3980, 4)));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(
    f.message,
    "fill(float*, int) writes 4 bytes at 0x7f32a0000fa0, right behind the end of 3.9 KiB of "
    "device memory allocated by cudaMalloc; so do 27 of the 32 threads whose address is known.");
  EXPECT_EQ(f.address, kA + 4000);
  EXPECT_EQ(f.count, 27u);
  EXPECT_EQ(f.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(f.stacks[0].device->thread, (std::array<std::uint32_t, 3>{229, 0, 0}));
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x400u);
  EXPECT_EQ(f.fault->certainty, DeviceFault::Certainty::kInferred);
  EXPECT_EQ(f.fault->instruction, 0x130u);
  EXPECT_NE(f.advice.find("inferred"), std::string::npos);
}

TEST_F(Dumps, FreedMemoryIsUseAfterFree) {
  cuda_free(kA);
  launch();
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(0, 32, kA, 4)));
  EXPECT_EQ(f.kind, "kernel-use-after-free");
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here");
}

// A store's fault comes after the synchronisation has answered 0: the program goes on and frees.
TEST_F(Dumps, WhatIsFreedBehindTheLaunchWasLive) {
  launch();
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(224, 32, kA + 3980, 4)));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(f.address, kA + 4000);
  EXPECT_EQ(f.count, 27u);
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
}

// Only those that harmed nothing are left in the dump.
TEST_F(Dumps, WhatIsFreedBehindTheLaunchIsNotBlamed) {
  launch();
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(0, 32, kA, 4)));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_FALSE(f.address);
}

// The lanes that are left are those of another branch.
TEST_F(Dumps, HarmlessAddressesNameNoThread) {
  launch();
  const ReportedFinding& f =
    only(fault(14, "warp", kStore, "only\t1\t0\t0\n" + lanes(0, 16, kA, 8)));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.message,
            "A 4-byte store of fill(float*, int) at fill.cu:8 met a fault (illegal address); the "
            "threads that are left of it use memory that is allocated.");
  EXPECT_FALSE(f.address);
  EXPECT_FALSE(f.stacks[0].device->thread);
}

TEST_F(Dumps, MisalignedNamesTheFirst) {
  launch();
  const ReportedFinding& f = only(fault(6, "warp", kStore, lanes(0, 32, kA + 1, 4)));
  EXPECT_EQ(f.kind, "kernel-misaligned");
  EXPECT_EQ(
    f.message,
    "fill(float*, int) writes 4 bytes at 0x7f32a0000001, which is no multiple of 4, 1 byte "
    "into 3.9 KiB of device memory allocated by cudaMalloc; so do all of the 32 threads whose "
    "address is known.");
}

TEST_F(Dumps, AssertsTrapsAndSharedMemory) {
  launch();
  EXPECT_EQ(only(fault(12, "stopped", "-\t-\t0")).message,
            "An assert in fill(float*, int) at fill.cu:8 failed.");
  EXPECT_EQ(result.findings[0].kind, "kernel-assert");
  EXPECT_NE(result.findings[0].advice.find("CUDA has printed its text"), std::string::npos);
  const std::string details = "failed\t1\t0\t0\t5\t2\t0\ncondition\tn > 0 && \"rows\"\n";
  const ReportedFinding& full = only(fault(12, "stopped", "-\t-\t0", details));
  EXPECT_EQ(full.message, "An assert in fill(float*, int) at fill.cu:8 failed: n > 0 && \"rows\".");
  EXPECT_EQ(full.advice.find("CUDA has printed"), std::string::npos);
  EXPECT_EQ(full.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(full.stacks[0].device->thread, (std::array<std::uint32_t, 3>{5, 2, 0}));
  EXPECT_EQ(only(fault(0, "stopped", "-\t-\t0")).message,
            "fill(float*, int) stopped at fill.cu:8 by a trap.");
  EXPECT_EQ(result.findings[0].kind, "kernel-fault");
  EXPECT_EQ(
    only(fault(5, "warp", "store\tshared\t4")).message,
    "A 4-byte store of fill(float*, int) at fill.cu:8 lies outside of the shared memory of its block.");
  EXPECT_EQ(result.findings[0].kind, "kernel-out-of-bounds");
  EXPECT_EQ(only(fault(5, "warp", "store\tlocal\t1")).kind, "kernel-fault");
  EXPECT_EQ(only(fault(4, "warp", "-\t-\t0")).message,
            "fill(float*, int) met a fault at fill.cu:8: illegal instruction.");
}

TEST_F(Dumps, DamagedLinesAreCounted) {
  launch();
  const std::string good = fault(12, "stopped", "-\t-\t0");
  only("lanes\t1\n" + good + "lanes\t1\t0\t0\t0\t4000000000\t10\t4\nfault\t1\nonly\tx\n");
  EXPECT_EQ(open_trace(directory.path()).value().damaged_lines, 4u);
}

// Context 1 is device 0's, context 2 device 1's.
class DumpsOfTwoDevices : public Dumps {
protected:
  void SetUp() override {
    Dumps::SetUp();
    log().context(1, 0xc0, 0, true);
    log().context(2, 0xc1, 1, true);
    log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x110}, .context = 2},
                MemoryKind::kDevice, kB, 1024);
  }
  void enable_access() {
    log().record({.api = "cuCtxEnablePeerAccess", .context = 1},
                 Made<trace::LifeFields>()
                   .handle(0xc1)
                   .object(trace::ObjectClass::kPeerAccess)
                   .op(trace::LifeOp::kCreate)
                   .extra(0xc0));
  }
};

TEST_F(DumpsOfTwoDevices, MemoryOutOfReachIsNamed) {
  launch_with({kB});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4", lanes(0, 32, kB, 4)));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(
    f.message,
    "A 4-byte load of fill(float*, int) at fill.cu:8 met a fault (illegal address); threads that are left of it "
    "use 1.0 KiB of device memory allocated by cudaMalloc on device 1, to which device 0 has no access.");
  EXPECT_NE(f.advice.find("call cudaDeviceEnablePeerAccess for device 1 with device 0 current"),
            std::string::npos);
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
}

TEST_F(DumpsOfTwoDevices, ThatTheLaunchWasGivenWithoutAnAddress) {
  launch_with({kB});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_NE(
    f.message.find("; its launch was given 1.0 KiB of device memory allocated by cudaMalloc "
                   "on device 1, to which device 0 has no access"),
    std::string::npos)
    << f.message;
}

// The same line launched the kernel on both devices: either may have met the fault.
TEST_F(DumpsOfTwoDevices, WhereBothRunItNothingIsOutOfReach) {
  launch_with({kB}, 2);
  launch_with({kA});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4", lanes(0, 32, kB, 4)));
  EXPECT_EQ(f.message.find("no access"), std::string::npos) << f.message;
  EXPECT_NE(f.message.find("use memory that is allocated"), std::string::npos) << f.message;
}

TEST_F(DumpsOfTwoDevices, WithAccessItIsNone) {
  enable_access();
  launch_with({kB});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4", lanes(0, 32, kB, 4)));
  EXPECT_NE(f.message.find("use memory that is allocated"), std::string::npos) << f.message;
}

} // namespace
} // namespace gmt::test
