// SPDX-License-Identifier: Apache-2.0
// The HeapTable of a context: when it is there, when nothing of it counts, and which block a
// mistake was beside.
#include "interposer/kernel_checks/library/heap_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"
#include "rewriter/heap_table.h"

namespace gmt::interposer::kernel_checks {
namespace {

using rewriter::HeapTable;

constexpr std::uint64_t kHeap = 0x7f0000200000;

struct KernelCheckHeapBlocks : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    ASSERT_TRUE(has_table());
  }
  HeapTable& make() {
    bool is_new = false;
    const std::uint64_t at = make_heap_table(&is_new);
    EXPECT_TRUE(is_new);
    return *reinterpret_cast<HeapTable*>(at); // NOLINT: memory of the made-up driver
  }
  static std::uint8_t* units(const HeapTable& table) {
    return reinterpret_cast<std::uint8_t*>(table.units); // NOLINT
  }
  static void load(HeapUse use, const char* why_plain) {
    auto module = std::make_unique<Module>();
    module->heap_use = use;
    module->why_plain = why_plain;
    keep_module(std::move(module), reinterpret_cast<CUmodule>(0x3000)); // NOLINT: a handle
  }
  static bool is_noted() {
    for (const Reported::Plain& one : reported.plain) {
      if (one.reason.starts_with("blocks of malloc in kernels")) return true;
    }
    return false;
  }
};

TEST_F(KernelCheckHeapBlocks, UnitsStandForTwiceTheHeap) {
  EXPECT_EQ(heap_table(), 0u);
  const HeapTable& table = make();
  EXPECT_GE(table.unit_count * rewriter::kUnitBytes, (8u << 20) * 2 + 2 * rewriter::kHeapAlignment);
  EXPECT_EQ(table.unit_count % rewriter::kUnitsOfRegion, 0u);
  EXPECT_EQ(table.table, kernel_checks::table().placed().table);
  bool is_new = true;
  EXPECT_EQ(make_heap_table(&is_new), heap_table());
  EXPECT_FALSE(is_new);
}

TEST_F(KernelCheckHeapBlocks, AMistakeIsBesideABlock) {
  HeapTable& table = make();
  table.first = kHeap;
  const std::uint8_t states[] = {rewriter::kPoisonUnit,
                                 rewriter::kBeginUnit | 16,
                                 16,
                                 4,
                                 rewriter::kPoisonUnit,
                                 rewriter::kPoisonUnit,
                                 rewriter::kFreedUnit | rewriter::kBeginUnit | 16,
                                 rewriter::kFreedUnit | 8};
  std::memcpy(units(table), states, sizeof states);
  for (const std::uint64_t offset : {4u, 16u + 36u, 64u + 8u}) { // before, in its tail, behind
    const trace::ExecutionNeighbour block = heap_block_at(kHeap + offset, false);
    EXPECT_EQ(block.begin, kHeap + 16) << offset;
    EXPECT_EQ(block.bytes, 36u) << offset;
    EXPECT_EQ(block.is_freed, 0u);
    EXPECT_EQ(block.space, trace::ExecutionSpace::kUnknown);
  }
  const trace::ExecutionNeighbour freed = heap_block_at(kHeap + 7 * 16 + 4, true);
  EXPECT_EQ(freed.begin, kHeap + 96);
  EXPECT_EQ(freed.bytes, 24u);
  EXPECT_EQ(freed.is_freed, 1u);
  EXPECT_EQ(heap_block_at(kHeap + 4096, false).bytes, 0u);
  EXPECT_EQ(heap_block_at(kHeap - 4096, false).bytes, 0u);
}

TEST_F(KernelCheckHeapBlocks, CodeThatMarksIsTrusted) {
  const HeapTable& table = make();
  load(HeapUse::kNone, "it is in libcublas.so.13: NVIDIA's own libraries are left out");
  load(HeapUse::kMarked, "");
  EXPECT_EQ(table.is_off, 0u);
  EXPECT_FALSE(is_noted());
}

// Its blocks may lie where a marked one was freed.
TEST_F(KernelCheckHeapBlocks, CodeThatDoesNotMarkEndsIt) {
  const HeapTable& table = make();
  load(HeapUse::kUnmarked, "there is no PTX of it");
  EXPECT_EQ(table.is_off, 1u);
  EXPECT_TRUE(is_noted());
}

TEST_F(KernelCheckHeapBlocks, APlainFormOfMarkedCodeEndsIt) {
  const HeapTable& table = make();
  load(HeapUse::kMarked, "the driver did not take its checked form (218)");
  EXPECT_EQ(table.is_off, 1u);
}

TEST_F(KernelCheckHeapBlocks, ALaunchBeforeItsModuleIsReadyEndsIt) {
  const HeapTable& table = make();
  Module module;
  module.heap_use = HeapUse::kMarked;
  Kernel kernel;
  kernel.module = &module;
  count_plain(kernel, PlainReason::kContext); // another heap
  EXPECT_EQ(table.is_off, 0u);
  count_plain(kernel, PlainReason::kKernel);
  EXPECT_EQ(table.is_off, 1u);
}

// It would take entries of the heap for memory that was freed.
TEST_F(KernelCheckHeapBlocks, ItIsNotMadeWhereMachineCodeIsPatched) {
  settings.patches_code = true;
  begin_made_up_driver();
  settings.patches_code = false;
  bool is_new = false;
  EXPECT_EQ(make_heap_table(&is_new), 0u);
  EXPECT_TRUE(is_noted());
}

TEST_F(KernelCheckHeapBlocks, ItIsNotMadeBehindCodeThatDoesNotMark) {
  load(HeapUse::kUnmarked, "there is no PTX of it");
  EXPECT_FALSE(is_noted()); // as long as no module marks
  bool is_new = false;
  EXPECT_EQ(make_heap_table(&is_new), 0u);
  EXPECT_TRUE(is_noted());
}

} // namespace
} // namespace gmt::interposer::kernel_checks
