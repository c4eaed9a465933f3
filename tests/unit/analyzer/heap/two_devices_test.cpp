// SPDX-License-Identifier: Apache-2.0
// Copies between two devices: who has access to what, by contexts, pools and mappings.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class TwoDevices : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"copy-staged"});
    log().context(1, 0xc0, 0, true);
    log().context(2, 0xc1, 1, true);
    on_device(kA, 1);
    on_device(kB, 2);
  }
  void on_device(std::uint64_t address, std::uint16_t context,
                 MemoryKind memory_kind = MemoryKind::kDevice) {
    log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x100}, .context = context},
                memory_kind, address, kMiB);
    log().set({.api = "cuMemsetD8_v2"}, address, kMiB);
  }
  void peer_copy() {
    log().copy({.api = "cuMemcpyPeer", .via = "cudaMemcpyPeer", .stack = {0x330}}, kB, kA, kMiB,
               Side::kDevice, Side::kDevice);
  }
  void peer_access(std::uint64_t own, std::uint64_t peer, trace::LifeOp op) {
    log().record({.api = "cuCtxEnablePeerAccess"}, Made<trace::LifeFields>()
                                                     .handle(peer)
                                                     .object(trace::ObjectClass::kPeerAccess)
                                                     .op(op)
                                                     .extra(own));
  }
  static constexpr std::uint64_t kPooled = 0x7f32d0000000, kDefaultPool = 0x55550000;
  void grant(std::uint64_t address, std::uint64_t bytes, std::uint64_t device, bool access) {
    const std::uint16_t both = trace::kUseReads | trace::kUseWrites;
    log().record({.api = "cuMemSetAccess", .flags = access ? both : std::uint16_t{0}},
                 Made<trace::UseFields>()
                   .address(address)
                   .bytes(bytes)
                   .use(trace::UseClass::kAccess)
                   .stream(device));
  }
  void free_three() {
    cuda_free(kC);
    cuda_free(kPooled);
    free_both();
  }
  void free_both() {
    cuda_free(kA);
    cuda_free(kB);
    run();
  }
};

TEST_F(TwoDevices, WithoutAccessIsStaged) {
  peer_copy();
  peer_copy();
  free_both();
  ASSERT_EQ(kinds(), "copy-staged");
  const ReportedFinding& f = *find("copy-staged");
  EXPECT_EQ(f.severity, Severity::kNote);
  EXPECT_EQ(
    f.message,
    "cudaMemcpyPeer copies from device 0 to device 1, neither of which has access to the other, so "
    "that the data is staged through the host (2.0 MiB in 2 copies).");
  EXPECT_EQ(f.count, 2u);
  EXPECT_EQ(f.bytes, 2 * kMiB);
}

TEST_F(TwoDevices, AccessInEitherDirectionIsEnough) {
  peer_access(0xc1, 0xc0, trace::LifeOp::kCreate);
  peer_copy();
  peer_access(0xc0, 0xc1, trace::LifeOp::kCreate);
  peer_access(0xc1, 0xc0, trace::LifeOp::kDestroy);
  peer_copy();
  free_both();
  EXPECT_EQ(kinds(), "");
}

TEST_F(TwoDevices, AccessTakenAway) {
  peer_access(0xc1, 0xc0, trace::LifeOp::kCreate);
  peer_access(0xc1, 0xc0, trace::LifeOp::kDestroy);
  peer_copy();
  free_both();
  EXPECT_EQ(kinds(), "copy-staged");
}

TEST_F(TwoDevices, AccessOfUnknownContextsMayBeTheirs) {
  peer_access(0xdead, 0xc0, trace::LifeOp::kCreate);
  peer_copy();
  free_both();
  EXPECT_EQ(kinds(), "");
}

// Peer access of the contexts says nothing of a pool, and a pool's access nothing of other memory.
TEST_F(TwoDevices, PoolsHaveAccessListsOfTheirOwn) {
  peer_access(0xc0, 0xc1, trace::LifeOp::kCreate);
  on_device(kC, 2, MemoryKind::kStreamOrdered);
  const auto copy = [this] {
    log().copy({.api = "cuMemcpyPeer"}, kC, kPooled, kMiB, Side::kDevice, Side::kDevice);
  };
  on_device(kPooled, 1, MemoryKind::kStreamOrdered);
  copy();
  grant(kDefaultPool, 0, 1, false);
  copy();
  free_three();
  ASSERT_NE(find("copy-staged"), nullptr);
  EXPECT_EQ(find("copy-staged")->count, 2u);
  EXPECT_NE(find("copy-staged")->advice.find("access to the pool (cudaMemPoolSetAccess)"),
            std::string::npos);
}

TEST_F(TwoDevices, AccessToAPool) {
  on_device(kC, 2, MemoryKind::kStreamOrdered);
  grant(kDefaultPool, 0, 0, true);
  log().copy({.api = "cuMemcpyPeer"}, kC, kA, kMiB, Side::kDevice, Side::kDevice);
  cuda_free(kC);
  free_both();
  EXPECT_EQ(find("copy-staged"), nullptr);
}

TEST_F(TwoDevices, AccessToAnotherPool) {
  log().record({.api = "cuMemPoolCreate"}, Made<trace::LifeFields>()
                                             .handle(0x90)
                                             .object(trace::ObjectClass::kPool)
                                             .op(trace::LifeOp::kCreate)
                                             .extra(1));
  on_device(kC, 2, MemoryKind::kStreamOrdered);
  grant(0x90, 0, 0, true);
  log().copy({.api = "cuMemcpyPeer"}, kC, kA, kMiB, Side::kDevice, Side::kDevice);
  cuda_free(kC);
  free_both();
  EXPECT_NE(find("copy-staged"), nullptr);
}

TEST_F(TwoDevices, MappingsHaveAccessListsOfTheirOwn) {
  const auto map = [this] {
    log().alloc({.api = "cuMemCreate"}, MemoryKind::kVmmHandle, 0x71, kMiB, 2); // device 1
    log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kC, kMiB, 0x71);
    log().copy({.api = "cuMemcpyDtoD_v2", .stack = {0x340}}, kC, kA, kMiB, Side::kDevice,
               Side::kDevice);
    grant(kC, kMiB, 0, true);
    log().copy({.api = "cuMemcpyDtoD_v2", .stack = {0x341}}, kC, kA, kMiB, Side::kDevice,
               Side::kDevice);
    log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kC, kMiB);
    log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 0x71);
  };
  map();
  map(); // what was granted ended with the first mapping
  free_both();
  ASSERT_EQ(kinds(), "copy-staged");
  EXPECT_EQ(find("copy-staged")->count, 2u);
  EXPECT_EQ(address_of(find("copy-staged")->stacks[0]), 0x340u);
  EXPECT_NE(find("copy-staged")->advice.find("access to the mapping (cuMemSetAccess)"),
            std::string::npos);
}

TEST_F(TwoDevices, CopiesWithinADeviceAndRefusedOnes) {
  on_device(kC, 2);
  log().copy({.api = "cuMemcpyDtoD_v2"}, kC, kB, kMiB, Side::kDevice, Side::kDevice);
  log().copy({.api = "cuMemcpyPeer", .result = 1}, kB, kA, kMiB, Side::kDevice, Side::kDevice);
  cuda_free(kC);
  free_both();
  EXPECT_EQ(find("copy-staged"), nullptr);
}

} // namespace
} // namespace gmt::test
