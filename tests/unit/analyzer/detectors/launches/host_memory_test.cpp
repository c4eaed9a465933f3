// SPDX-License-Identifier: Apache-2.0
// The host has memory of its own where a block was freed: what leads there is no use of the block.

#include "tests/unit/analyzer/detectors/launches/arguments_fixture.h"

namespace gmt::test {
namespace {

class HostMemory : public Arguments {
protected:
  void SetUp() override {
    Arguments::SetUp();
    free_behind();
  }
  void host_has(std::uint64_t address, std::uint64_t bytes = 4096) {
    log().record({}, Made<trace::HostMemoryFields>().address(address).bytes(bytes));
  }
};

TEST_F(HostMemory, WithoutARecordItIsAUse) {
  launch({{kBehind + 64, 0}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, AddressOfTheHostIsNoUse) {
  host_has(kBehind);
  launch({{kBehind + 64, 0}});
  launch({{kBehind + 64, 0}});
  EXPECT_EQ(verdict(), "");
}

TEST_F(HostMemory, OtherPagesOfTheBlockAreFreedAsBefore) {
  host_has(kBehind);
  launch({{kBehind + 64, 0}, {kBehind + 4096, 1}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, WhatLaunchesBeforeGaveIsAUse) {
  launch({{kBehind + 64, 0}});
  host_has(kBehind);
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, HoldsUntilABlockIsAllocatedThere) {
  host_has(kBehind);
  free_behind();
  launch({{kBehind + 64, 0}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, IsNoneWhereABlockIsAlive) {
  cuda_malloc(kBehind, kMiB, 0x102);
  host_has(kBehind);
  cuda_free(kBehind, 0, 0x202);
  launch({{kBehind + 64, 0}});
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, ABlockBesideItChangesNothing) {
  host_has(kBehind, 8192);
  cuda_malloc(kBehind + 4096, 64, 0x102);
  launch({{kBehind + 64, 0}, {kBehind + 4100, 1}});
  EXPECT_EQ(verdict(), "");
}

TEST_F(HostMemory, CopyThatNamesNoSideMayReadIt) {
  host_has(kBehind);
  cuda_memcpy(kA, kBehind, 64, 0, Side::kUnified, Side::kUnified);
  EXPECT_EQ(verdict(), "");
}

TEST_F(HostMemory, CopyThatDeclaresDeviceMemoryUsesTheBlock) {
  host_has(kBehind);
  cuda_memcpy(kBehind, kHost, 64);
  EXPECT_EQ(verdict(), "error 1");
}

TEST_F(HostMemory, DoubleFreeIsOneStill) {
  expect_only({"use-after-free", "double-free"});
  host_has(kBehind);
  cuda_free(kBehind, 1, 0x203);
  run();
  EXPECT_EQ(kinds(), "double-free");
}

// Which is how a dangling pointer shows where the host has got its addresses.
TEST_F(HostMemory, IsNamedWhenTheContextDiesBehindIt) {
  expect_only({"use-after-free", "host-pointer"});
  log().record({}, Made<trace::DeviceFields>().ordinal(0));
  host_has(kBehind);
  launch({{kBehind + 64, 0}});
  log().record({.api = "cuCtxSynchronize", .result = 700, .stack = {0x500}},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_NE(result.findings[0].message.find("before it was the host's there lay freed memory: "),
            std::string::npos)
    << result.findings[0].message;
}

TEST_F(HostMemory, IsSilentWhileTheContextLives) {
  expect_only({"use-after-free", "host-pointer"});
  log().record({}, Made<trace::DeviceFields>().ordinal(0));
  host_has(kBehind);
  launch({{kBehind + 64, 0}});
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
