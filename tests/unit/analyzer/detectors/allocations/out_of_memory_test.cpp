// SPDX-License-Identifier: Apache-2.0
// out-of-memory: who held what when an allocation failed, by stack, module and pool, and what the
// driver said.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

constexpr std::uint64_t kPool = 0x5000, kOtherPool = 0x6000, kDefaultPool = 0x9000;

class OutOfMemory : public AnalysisTest {
protected:
  OutOfMemory() { expect_only({"leak", "out-of-memory"}); }
  void fail(std::uint64_t bytes, std::uint64_t from = 0x400, std::size_t thread = 0) {
    log(thread).alloc(
      {.api = "cuMemAlloc_v2", .via = "cudaMalloc", .result = 2, .stack = {from}, .context = 0},
      MemoryKind::kDevice, 0, bytes);
  }
  void driver_says(std::uint64_t free_bytes, std::uint64_t total, std::uint16_t context = 1,
                   std::size_t thread = 0) {
    log(thread).record({.context = context},
                       Made<trace::MemoryInfoFields>().free_bytes(free_bytes).total_bytes(total));
  }
  void take(std::uint64_t address, std::uint64_t bytes, std::uint64_t pool = 0) {
    log().alloc({.api = "cuMemAllocFromPoolAsync", .stack = {0x300}}, MemoryKind::kStreamOrdered,
                address, bytes, 7, {0, 0, 0, 0, 0, pool, 0});
  }
  void give(std::uint64_t address) {
    log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, address, 0, 7);
  }
  void pool(LifeOp op, std::uint64_t handle, std::uint64_t extra = 0, std::uint64_t value = 0) {
    log().record({.api = "cuMemPoolSomething"},
                 Made<trace::LifeFields>()
                   .handle(handle)
                   .object(ObjectClass::kPool)
                   .op(op)
                   .extra(extra)
                   .value(value)
                   .bytes(0)
                   .name(0),
                 {0, 0, 0, 0});
  }
  const HeldMemory& held() {
    run();
    const ReportedFinding* f = find("out-of-memory");
    static const HeldMemory kNothing;
    EXPECT_TRUE(f != nullptr && f->held);
    return f != nullptr && f->held ? *f->held : kNothing;
  }
};

TEST_F(OutOfMemory, ModulesThatHeldIt) {
  trace.modules = {"+\t1\t1000\t2000\t0\t-\t/usr/lib/libcublas.so.13",
                   "+\t1\t2000\t3000\t0\t-\t/bin/train",
                   "+\t1\t3000\t4000\t0\t-\t/usr/lib/libcudart.so.13"};
  cuda_malloc(kA, 3 * kMiB, 0x1100);
  cuda_malloc(kB, kMiB, 0x2100);
  cuda_malloc(kC, kMiB, 0x2200);
  log().alloc({.api = "cuMemAlloc_v2", .stack = {0x3100, 0x2300}}, MemoryKind::kDevice, kC + kMiB,
              4 * kMiB);
  fail(64 * kMiB);
  const HeldMemory& h = held();
  ASSERT_EQ(h.modules.size(), 2u);
  EXPECT_EQ(h.modules[0].path, "/bin/train");
  EXPECT_EQ(h.modules[0].owner, "");
  EXPECT_EQ(h.modules[0].bytes, 6 * kMiB);
  EXPECT_EQ(h.modules[0].blocks, 3u);
  EXPECT_EQ(h.modules[1].owner, "cuBLAS");
  EXPECT_EQ(h.modules[1].bytes, 3 * kMiB);
  ASSERT_EQ(h.holders.size(), 4u);
  const ReportedFinding& f = *find("out-of-memory");
  EXPECT_EQ(address_of(f.stacks[h.holders[0].stack]), 0x3100u);
  EXPECT_EQ(h.holders[0].bytes, 4 * kMiB);
  EXPECT_EQ(h.requested_bytes, 64 * kMiB);
}

TEST_F(OutOfMemory, BeyondTheLargestHoldersThereIsASum) {
  for (std::uint64_t i = 0; i < 8; ++i) cuda_malloc(kA + i * 16 * kMiB, (8 - i) * kMiB, 0x1000 + i);
  fail(64 * kMiB);
  const HeldMemory& h = held();
  EXPECT_EQ(h.holders.size(), 5u);
  EXPECT_EQ(h.other_holders, 3u);
  EXPECT_EQ(h.other_bytes, 6 * kMiB);
  EXPECT_EQ(h.bytes, 36 * kMiB);
}

TEST_F(OutOfMemory, AskedAgainFromTheSameLineItIsANote) {
  fail(64 * kMiB, 0x400);
  fail(40 * kMiB, 0x400);
  fail(25 * kMiB, 0x400);
  cuda_malloc(kA, 20 * kMiB, 0x400);
  run();
  const ReportedFinding* f = find("out-of-memory");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kNote);
  EXPECT_EQ(f->count, 3u);
  EXPECT_NE(f->message.find("(the first of 3 such failures); asked again, CUDA gave 20.0 MiB."),
            std::string::npos)
    << f->message;
}

TEST_F(OutOfMemory, WhatAsksForSomethingElseIsNoNextTry) {
  fail(64 * kMiB, 0x400);
  cuda_malloc(kA, 64 * kMiB, 0x500); // another line
  fail(64 * kMiB, 0x600);
  cuda_malloc(kB, kMiB, 0x600); // far less
  fail(64 * kMiB, 0x700);
  cuda_malloc(kC, 65 * kMiB, 0x700); // more
  fail(64 * kMiB, 0x800);
  log(1).alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x800}}, MemoryKind::kDevice,
               kC + 128 * kMiB, 64 * kMiB); // another thread
  fail(64 * kMiB, 0x900);
  log().alloc({.api = "cuMemAllocAsync", .via = "cudaMallocAsync", .stack = {0x900}},
              MemoryKind::kStreamOrdered, kC + 256 * kMiB, 64 * kMiB, 7); // other memory
  fail(64 * kMiB, 0xa00);
  fail(64 * kMiB, 0xa00);
  cuda_malloc(kC + 512 * kMiB, 64 * kMiB, 0xa00); // the only next try
  run();
  std::vector<Severity> severities;
  for (const ReportedFinding& f : result.findings) {
    if (f.kind == "out-of-memory") severities.push_back(f.severity);
  }
  EXPECT_EQ(std::ranges::count(severities, Severity::kWarning), 5);
  EXPECT_EQ(std::ranges::count(severities, Severity::kNote), 1);
}

// Allocators free what they keep in between, and ask from another line.
TEST_F(OutOfMemory, AnotherLineOfTheSameFileAsksForAsMuch) {
  trace.modules = {"+\t1\t1000\t2000\t0\t-\t/lib/liballocator.so",
                   "+\t1\t2000\t3000\t0\t-\t/bin/train"};
  fail(64 * kMiB, 0x1100);
  cuda_malloc(kA, 64 * kMiB, 0x1200);
  fail(32 * kMiB, 0x1300);
  cuda_malloc(kB, 20 * kMiB, 0x1400); // something else
  fail(32 * kMiB, 0x1500);
  cuda_malloc(kC, 32 * kMiB, 0x2100); // another file
  run();
  for (const ReportedFinding& f : result.findings) {
    if (f.kind != "out-of-memory") continue;
    EXPECT_EQ(f.severity, address_of(f.stacks[0]) == 0x1100 ? Severity::kNote : Severity::kWarning);
  }
}

TEST_F(OutOfMemory, KnownLibrariesAskForLessFromOtherLines) {
  trace.modules = {"+\t1\t1000\t2000\t0\t-\t/jax_plugins/xla_cuda13/xla_cuda_plugin.so"};
  fail(100 * kMiB, 0x1100);
  fail(90 * kMiB, 0x1200);
  fail(81 * kMiB, 0x1200);
  cuda_malloc(kA, 72 * kMiB, 0x1200);
  run();
  EXPECT_EQ(find("out-of-memory"), nullptr); // it got memory at the next try
}

TEST_F(OutOfMemory, OneFailureWithoutANextTryKeepsTheWarning) {
  fail(64 * kMiB, 0x400);
  cuda_malloc(kA, 64 * kMiB, 0x400);
  fail(64 * kMiB, 0x400);
  run();
  ASSERT_NE(find("out-of-memory"), nullptr);
  EXPECT_EQ(find("out-of-memory")->severity, Severity::kWarning);
  EXPECT_EQ(find("out-of-memory")->message.find("asked again"), std::string::npos);
}

TEST_F(OutOfMemory, WhatIsNotTracedIsEstimated) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  cuda_malloc(kA, 100 * kMiB);
  log().alloc({.api = "cuMemAlloc_v2", .context = 2}, MemoryKind::kDevice, kB, 30 * kMiB);
  fail(64 * kMiB);
  driver_says(20 * kMiB, 200 * kMiB, 2);
  const HeldMemory& h = held();
  EXPECT_EQ(h.device, 1);
  EXPECT_EQ(h.bytes, 30 * kMiB); // the other device's memory has nothing to do with it
  EXPECT_EQ(h.free_bytes, 20 * kMiB);
  EXPECT_EQ(h.total_bytes, 200 * kMiB);
  EXPECT_EQ(h.untraced_bytes(), 150 * kMiB);
  EXPECT_EQ(
    find("out-of-memory")->advice,
    "Look for other programs on this device (nvidia-smi): most of its memory is not this program's.");
}

TEST_F(OutOfMemory, MoreThanTheDeviceHasInAll) {
  fail(std::uint64_t{32} << 40);
  driver_says(15 * kMiB, 16 * kMiB);
  run();
  ASSERT_NE(find("out-of-memory"), nullptr);
  EXPECT_EQ(find("out-of-memory")->advice,
            "Check how the size is computed: the device has 16.0 MiB in all.");
}

TEST_F(OutOfMemory, ANegativeSize) {
  fail(~std::uint64_t{0} - 99);
  driver_says(1 * kMiB, 16 * kMiB); // most of it is another program's
  run();
  ASSERT_NE(find("out-of-memory"), nullptr);
  EXPECT_EQ(find("out-of-memory")->advice,
            "Check how the size is computed: the device has 16.0 MiB in all, and a negative number "
            "becomes such a size.");
}

TEST_F(OutOfMemory, EnoughWasFreeButNotInOnePiece) {
  cuda_malloc(kA, 100 * kMiB);
  fail(10 * kMiB);
  driver_says(20 * kMiB, 121 * kMiB);
  EXPECT_EQ(held().untraced_bytes(), kMiB);
  EXPECT_NE(find("out-of-memory")->advice.find("not in one piece"), std::string::npos);
}

TEST_F(OutOfMemory, ManagedMemoryMayBeMoreThanTheDeviceHas) {
  log().alloc({.api = "cuMemAllocManaged"}, MemoryKind::kManaged, kA, 500 * kMiB);
  fail(10 * kMiB);
  driver_says(0, 121 * kMiB);
  EXPECT_EQ(held().untraced_bytes(), 0u);
}

TEST_F(OutOfMemory, OlderTracesLackTheDriversWord) {
  cuda_malloc(kA, kMiB);
  fail(10 * kMiB);
  EXPECT_EQ(held().device, -1);
  EXPECT_FALSE(held().untraced_bytes().has_value());
}

TEST_F(OutOfMemory, TheDriversWordBelongsToTheFailureBeforeItInItsThread) {
  fail(kMiB, 0x400, 0);
  driver_says(7, 8, 1, 1); // of a call in another thread
  driver_says(1, 2, 1, 0);
  fail(kMiB, 0x400, 0); // the same again: the first stays the example
  driver_says(3, 4, 1, 0);
  EXPECT_EQ(held().free_bytes, 1u);
  EXPECT_EQ(find("out-of-memory")->count, 2u);
  EXPECT_EQ(find("out-of-memory")->bytes, 2 * kMiB);
}

TEST_F(OutOfMemory, FreedPiecesByPool) {
  pool(LifeOp::kCreate, kPool);
  pool(LifeOp::kSet, kPool, 4, UINT64_MAX);
  for (std::uint64_t i = 0; i < 5; ++i) take(kA + i * kMiB, kMiB, kPool);
  for (const std::uint64_t i : {0u, 1u, 3u}) give(kA + i * kMiB); // pieces of 2 and 1 MiB
  take(kB, kMiB);
  take(kB + kMiB, kMiB, kDefaultPool); // CUDA's own, asked for by its handle
  give(kB);
  cuda_malloc(kC, 4 * kMiB);
  cuda_free(kC);
  cuda_malloc(kC + kMiB, kMiB); // leaves pieces of 1 and 2 MiB
  fail(64 * kMiB);
  const HeldMemory& h = held();
  ASSERT_EQ(h.pools.size(), 3u);
  EXPECT_EQ(h.pools[0].name, "default pool");
  EXPECT_EQ(h.pools[0].bytes, kMiB);
  EXPECT_EQ(h.pools[0].freed_bytes, kMiB);
  EXPECT_EQ(h.pools[0].fragmentation(), 0.0);
  EXPECT_FALSE(h.pools[0].release_threshold.has_value());
  EXPECT_EQ(h.pools[1].name, "pool 0x5000");
  EXPECT_EQ(h.pools[1].blocks, 2u);
  EXPECT_EQ(h.pools[1].freed_bytes, 3 * kMiB);
  EXPECT_EQ(h.pools[1].largest_freed, 2 * kMiB);
  EXPECT_EQ(h.pools[1].release_threshold, UINT64_MAX);
  EXPECT_EQ(h.pools[2].name, "outside pools");
  EXPECT_EQ(h.pools[2].freed_bytes, 3 * kMiB);
  EXPECT_EQ(h.pools[2].largest_freed, 2 * kMiB);
  EXPECT_DOUBLE_EQ(h.pools[2].fragmentation(), 1.0 / 3);
}

TEST_F(OutOfMemory, ATrimGivesBackWhatWasFreedBeforeIt) {
  pool(LifeOp::kCreate, kPool);
  take(kA, kMiB, kPool);
  take(kA + 4 * kMiB, 2 * kMiB, kPool);
  give(kA);
  pool(LifeOp::kTrim, kPool, 4096); // keeps some: what is not known
  pool(LifeOp::kTrim, kOtherPool);
  fail(64 * kMiB, 0x400);
  pool(LifeOp::kTrim, kPool);
  give(kA + 4 * kMiB);
  fail(64 * kMiB, 0x500);
  EXPECT_EQ(held().pools.at(0).freed_bytes, kMiB);
  ASSERT_EQ(kinds(), "leak out-of-memory out-of-memory"); // the pool is never destroyed
  EXPECT_EQ(result.findings[2].held->pools.at(0).freed_bytes, 2 * kMiB);
}

TEST_F(OutOfMemory, DevicesDrawFromThePoolTheyWereGiven) {
  log().context(1, 0xc1, 0, true);
  pool(LifeOp::kCreate, kPool);
  pool(LifeOp::kUse, kPool, 0);
  take(kA, kMiB);
  pool(LifeOp::kDestroy, kPool); // the default pool is back
  take(kB, 2 * kMiB);
  fail(64 * kMiB);
  const HeldMemory& h = held();
  ASSERT_EQ(h.pools.size(), 2u);
  EXPECT_EQ(h.pools[0].bytes, 2 * kMiB);
  EXPECT_EQ(h.pools[1].name, "pool 0x5000");
  EXPECT_EQ(h.pools[1].bytes, kMiB);
  EXPECT_EQ(labels(*find("leak")), "allocated here|pool destroyed here");
}

TEST_F(OutOfMemory, OfTheHostOnlyWhatIsPinnedCounts) {
  cuda_malloc(kA, kMiB);
  cuda_malloc_host(kB, 3 * kMiB);
  log().alloc({.api = "cuMemHostAlloc", .via = "cudaMallocHost", .result = 2, .stack = {0x400}},
              MemoryKind::kPinned, 0, 64 * kMiB);
  driver_says(1, 2);
  const HeldMemory& h = held();
  EXPECT_TRUE(h.is_host);
  EXPECT_EQ(h.bytes, 3 * kMiB);
  EXPECT_TRUE(h.pools.empty());
  EXPECT_FALSE(h.free_bytes.has_value());
}

TEST_F(OutOfMemory, SaysInWhichRange) {
  log().range(trace::RangeOp::kPush, "epoch 2");
  fail(kMiB);
  log().range(trace::RangeOp::kPush, "later");
  run();
  EXPECT_EQ(find("out-of-memory")->range, "epoch 2");
}

} // namespace
} // namespace gmt::test
