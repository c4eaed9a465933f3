// SPDX-License-Identifier: Apache-2.0
// On which device blocks are counted whose context does not say it: stream-ordered and virtual
// memory.
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class Placements : public AnalysisTest {
protected:
  Placements() { expect_only({"out-of-memory"}); }
  static constexpr std::uint64_t kPool = 0x50, kHostDevice = ~std::uint64_t{0};

  void life(ObjectClass object, LifeOp op, std::uint64_t handle, std::uint64_t extra,
            std::uint16_t context = 0) {
    log().record({.api = "cuSomething", .context = context},
                 Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra));
  }
  void take(std::uint64_t bytes, std::uint64_t stream = 0, std::uint64_t pool = 0,
            std::uint16_t context = 0) {
    log().alloc({.api = "cuMemAllocAsync", .stack = {0x300}, .context = context},
                MemoryKind::kStreamOrdered, kA + ++taken_ * kMiB, bytes, stream,
                {0, 0, 0, 0, 0, pool, 0});
  }
  void two_contexts() {
    log().context(1, 0xc1, 0, false);
    log().context(2, 0xc2, 1, false);
  }
  // What a device held at its peak; 0 for one that held nothing.
  std::uint64_t peak_of(int device) const {
    for (const MemoryTables::Device& row : result.process.tables.devices) {
      if (row.device == device) return row.peak_bytes;
    }
    return 0;
  }
  std::uint64_t taken_ = 0;
};

TEST_F(Placements, TheOnlyContextsDevice) {
  life(ObjectClass::kPrimaryContext, LifeOp::kRetain, 3, 0xc1);
  take(1000);
  run();
  EXPECT_EQ(peak_of(3), 1000u);
}

TEST_F(Placements, TheFirstContextsDevice) {
  life(ObjectClass::kContext, LifeOp::kCreate, 0xc2, 0);
  log().context(7, 0xc2, 1, false);
  take(1000);
  log().context(8, 0xc1, 0, false);
  take(500);
  run();
  EXPECT_EQ(peak_of(1), 1500u);
  EXPECT_EQ(peak_of(0), 0u);
}

TEST_F(Placements, TheStreamsDeviceBeforeTheCurrentContexts) {
  two_contexts();
  life(ObjectClass::kStream, LifeOp::kCreate, 0x700, 0, 2);
  take(1000, 0x700, 0, 1);
  take(300, 0, 0, 1);
  life(ObjectClass::kStream, LifeOp::kDestroy, 0x700, 0);
  take(20, 0x700, 0, 1); // an old handle says nothing
  run();
  EXPECT_EQ(peak_of(1), 1000u);
  EXPECT_EQ(peak_of(0), 320u);
}

TEST_F(Placements, ThePoolsDeviceBeforeTheStreams) {
  two_contexts();
  life(ObjectClass::kPool, LifeOp::kCreate, kPool, 1);
  take(1000, 0, kPool, 1);
  run();
  EXPECT_EQ(peak_of(1), 1000u);
}

TEST_F(Placements, PoolsOfTheHost) {
  two_contexts();
  life(ObjectClass::kPool, LifeOp::kCreate, kPool, kHostDevice);
  take(1000, 0, kPool, 1);
  run();
  EXPECT_EQ(result.process.totals.peak_bytes, 0u); // no device's memory
  ASSERT_EQ(result.process.tables.memory_kinds.size(), 1u);
  EXPECT_EQ(result.process.tables.memory_kinds[0].device, -1);
  EXPECT_EQ(result.process.tables.memory_kinds[0].live_bytes, 1000u);
}

TEST_F(Placements, PhysicalMemorySaysItself) {
  log().context(1, 0xc1, 0, false);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x70, 2 * kMiB, 1 + 1);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x71, 4 * kMiB, 0 + 1);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x72, 8 * kMiB,
              kHostDevice);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x73,
              16 * kMiB); // older traces
  log().release({.api = "cuMemRelease", .context = 0}, FreeFunction::kMemRelease, 0x70);
  run();
  EXPECT_EQ(peak_of(1), 2 * kMiB);
  EXPECT_EQ(peak_of(0), 4 * kMiB);
  EXPECT_EQ(peak_of(-1), 16 * kMiB);
  EXPECT_EQ(result.process.totals.peak_bytes, 22 * kMiB);
}

TEST_F(Placements, MappingsAreOfTheirMemorysDevice) {
  log().context(1, 0xc1, 0, false);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x70, 2 * kMiB, 1 + 1);
  log().alloc({.api = "cuMemMap", .context = 0}, MemoryKind::kVmmMapping, kA, 2 * kMiB, 0x70);
  run();
  for (const MemoryTables::KindRow& row : result.process.tables.memory_kinds)
    EXPECT_EQ(row.device, 1) << row.memory_kind;
}

TEST_F(Placements, OutOfMemoryOfOneDevice) {
  two_contexts();
  life(ObjectClass::kPool, LifeOp::kCreate, kPool, 1);
  take(1000, 0, kPool, 1);
  log().alloc({.api = "cuMemCreate", .context = 0}, MemoryKind::kVmmHandle, 0x70, 2 * kMiB, 0 + 1);
  log().alloc({.api = "cuMemAlloc_v2", .result = 2, .stack = {0x100}, .context = 1},
              MemoryKind::kDevice, 0, kMiB);
  log().record({.context = 1},
               Made<trace::MemoryInfoFields>().free_bytes(100).total_bytes(3 * kMiB));
  run();
  const ReportedFinding* f = find("out-of-memory");
  ASSERT_TRUE(f != nullptr && f->held);
  EXPECT_EQ(f->held->device, 0);
  EXPECT_EQ(f->held->bytes, 2 * kMiB); // not the other device's
}

} // namespace
} // namespace gmt::test
