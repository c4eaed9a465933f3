// SPDX-License-Identifier: Apache-2.0
// Sums by kind of memory, device, stack and direction, held against a count by hand.
#include <map>
#include <random>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Usage : public AnalysisTest {
protected:
  const MemoryTables::KindRow* memory_kind(const std::string& name, int device = -1) const {
    for (const MemoryTables::KindRow& row : result.process.tables.memory_kinds) {
      if (row.memory_kind == name && row.device == device) return &row;
    }
    return nullptr;
  }
  const MemoryTables::Copies* copies(const std::string& direction) const {
    for (const MemoryTables::Copies& row : result.process.tables.copies) {
      if (row.direction == direction) return &row;
    }
    return nullptr;
  }
};

TEST_F(Usage, SumsByMemoryKindAndDevice) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  for (const std::uint16_t context : {std::uint16_t{1}, std::uint16_t{2}}) {
    log().alloc({.api = "cuMemAlloc_v2", .stack = {0x100}, .context = context}, MemoryKind::kDevice,
                kA + context * kMiB, context * 1000u);
  }
  log().alloc({.api = "cuMemAlloc_v2", .stack = {0x100}}, MemoryKind::kDevice, kB, 500);
  cuda_free(kB);
  log().alloc({.api = "cuMemAlloc_v2", .stack = {0x100}}, MemoryKind::kDevice, kB, 300);
  cuda_malloc_host(kC, 4096);
  run();
  const MemoryTables& tables = result.process.tables;
  ASSERT_EQ(tables.memory_kinds.size(), 3u);
  const MemoryTables::KindRow* first = memory_kind("device memory", 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->allocations, 3u);
  EXPECT_EQ(first->frees, 1u);
  EXPECT_EQ(first->allocated_bytes, 1800u);
  EXPECT_EQ(first->peak_bytes, 1500u);
  EXPECT_EQ(first->live_blocks, 2u);
  EXPECT_EQ(first->live_bytes, 1300u);
  ASSERT_NE(memory_kind("device memory", 1), nullptr);
  EXPECT_EQ(memory_kind("device memory", 1)->live_bytes, 2000u);
  ASSERT_NE(memory_kind("pinned host memory"), nullptr); // no device's
  ASSERT_EQ(tables.devices.size(), 2u);
  EXPECT_EQ(tables.devices[0].peak_bytes, 1500u);
  EXPECT_EQ(tables.devices[1].peak_bytes, 2000u);
  EXPECT_EQ(result.process.totals.peak_bytes, 3500u);
}

// No call says how large an imported handle is; what is mapped of it does.
TEST_F(Usage, ImportedMemoryIsAsLargeAsItsMapping) {
  log().alloc({.api = "cuMemImportFromShareableHandle", .context = 0}, MemoryKind::kVmmHandle, 0x70,
              0, 0 + 1);
  for (const std::uint64_t mapped : {2 * kMiB, 4 * kMiB, 2 * kMiB}) {
    log().alloc({.api = "cuMemMap", .context = 0}, MemoryKind::kVmmMapping, kA, mapped, 0x70);
    log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kA, mapped);
  }
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(find("leak")->bytes, 4 * kMiB);
  const MemoryTables::KindRow* row = memory_kind("physical memory (VMM handle)", 0);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->allocations, 1u);
  EXPECT_EQ(row->allocated_bytes, 4 * kMiB);
  EXPECT_EQ(row->live_bytes, 4 * kMiB);
  EXPECT_EQ(result.process.totals.peak_bytes, 4 * kMiB);
  log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 0x70);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(memory_kind("physical memory (VMM handle)", 0)->live_bytes, 0u);
}

// What lies in a sparse array is physical memory, which counts by itself.
TEST_F(Usage, SparseArraysHoldNoMemory) {
  constexpr std::uint64_t kSparse = 0x40; // CUDA_ARRAY3D_SPARSE
  log().alloc({.api = "cuArray3DCreate_v2"}, MemoryKind::kArray, 0x5550, kMiB, 0,
              {0, 1024, 1024, 0, 1, 0, kSparse});
  log().alloc({.api = "cuArray3DCreate_v2"}, MemoryKind::kArray, 0x5560, 1000, 0,
              {0, 1000, 0, 0, 1, 0, 0});
  run();
  EXPECT_EQ(result.process.totals.peak_bytes, 1000u);
  for (const std::uint64_t array : {0x5550u, 0x5560u}) {
    log().release({.api = "cuArrayDestroy"}, FreeFunction::kArrayDestroy, array);
  }
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.peak_bytes, 1000u);
}

TEST_F(Usage, BlocksEndInTheRowTheyWereAllocatedIn) {
  cuda_malloc(kA, 1000); // its context is described too late
  log().context(1, 0xc1, 0, true);
  cuda_malloc(kB, 500);
  cuda_free(kA);
  cuda_free(kB);
  run();
  ASSERT_EQ(result.process.tables.memory_kinds.size(), 1u);
  EXPECT_EQ(memory_kind("device memory")->live_bytes, 0u);
  EXPECT_EQ(memory_kind("device memory")->frees, 2u);
}

TEST_F(Usage, EndedWithItsContextIsNotFreed) {
  log().context(1, 0xc1, 0, false);
  cuda_malloc(kA, 1000);
  log().life({.api = "cuCtxDestroy_v2"}, 0xc1, trace::ObjectClass::kContext,
             trace::LifeOp::kDestroy);
  run();
  ASSERT_NE(memory_kind("device memory", 0), nullptr);
  EXPECT_EQ(memory_kind("device memory", 0)->frees, 0u);
  EXPECT_EQ(memory_kind("device memory", 0)->live_bytes, 0u);
}

// Against a copy of all stacks' bytes at every new peak.
TEST_F(Usage, HoldersAtThePeakAreExact) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    trace = {};
    std::mt19937 dice(seed);
    // Address -> stack, bytes
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> alive;
    std::map<std::uint64_t, std::uint64_t> by_stack, at_peak;
    std::uint64_t now = 0, peak = 0;
    for (unsigned i = 0; i < 300; ++i) {
      if (alive.empty() || dice() % 5 < 3 - (i > 150)) {
        const std::uint64_t address = kA + i * kMiB, stack = 0x100 + dice() % 8,
                            bytes = 1 + dice() % 100;
        cuda_malloc(address, bytes, stack);
        alive[address] = {stack, bytes};
        by_stack[stack] += bytes;
        now += bytes;
        if (now > peak) {
          peak = now;
          at_peak = by_stack;
        }
      } else {
        const auto victim = std::next(alive.begin(), static_cast<long>(dice() % alive.size()));
        cuda_free(victim->first);
        by_stack[victim->second.first] -= victim->second.second;
        now -= victim->second.second;
        alive.erase(victim);
      }
    }
    run();
    std::map<std::uint64_t, std::uint64_t> found;
    std::uint64_t last = UINT64_MAX;
    for (const MemoryTables::Holder& holder : result.process.tables.holders) {
      found[address_of(holder.stack)] = holder.bytes;
      EXPECT_LE(holder.bytes, last);
      last = holder.bytes;
    }
    std::erase_if(at_peak, [](const auto& entry) { return entry.second == 0; });
    EXPECT_EQ(result.process.totals.peak_bytes, peak);
    EXPECT_EQ(found, at_peak) << "seed " << seed;
  }
}

TEST_F(Usage, TheTenLargestHoldersAndTheRest) {
  for (std::uint64_t i = 1; i <= 12; ++i) cuda_malloc(kA + i * kMiB, i * 10, 0x100 + i);
  cuda_malloc_host(kC, kMiB); // no device memory
  run();
  const MemoryTables& tables = result.process.tables;
  ASSERT_EQ(tables.holders.size(), kMaxHolders);
  EXPECT_EQ(tables.holders[0].bytes, 120u);
  EXPECT_EQ(tables.holders[0].stack.api, "cudaMalloc");
  EXPECT_EQ(tables.other_holders, 2u);
  EXPECT_EQ(tables.other_bytes, 30u);
}

TEST_F(Usage, CopiesByWhatTheMemoryIs) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemAlloc_v2", .context = 2}, MemoryKind::kDevice, kB, kMiB);
  cuda_malloc_host(kC, kMiB);
  cuda_memcpy(kA, kHost, 100);
  cuda_memcpy(kA, kC, 1000, 0, Side::kUnified, Side::kUnified); // pinned, whatever is declared
  cuda_memcpy(kHost, kA, 10, 0, Side::kUnified, Side::kUnified);
  cuda_memcpy(kA, kA + 4096, 20, 0, Side::kDevice, Side::kDevice);
  cuda_memcpy(kA, kB, 30, 0, Side::kDevice, Side::kDevice);
  cuda_memcpy(kHost, kC, 40, 0, Side::kHost, Side::kHost);
  cuda_memcpy(kA, kHost, 7, 1); // refused
  run();
  EXPECT_EQ(result.process.tables.copies.size(), 5u);
  EXPECT_EQ(copies("host to device")->copies, 2u);
  EXPECT_EQ(copies("host to device")->bytes, 1100u);
  EXPECT_EQ(copies("host to device")->pageable_bytes, 100u);
  EXPECT_EQ(copies("device to host")->pageable_bytes, 10u);
  EXPECT_EQ(copies("device to device")->bytes, 20u);
  EXPECT_EQ(copies("device to another device")->bytes, 30u);
  EXPECT_EQ(copies("host to host")->bytes, 40u);
}

} // namespace
} // namespace gmt::test
