// SPDX-License-Identifier: Apache-2.0
// Accesses of the heap of kernels: what the HeapTable says of a byte.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rewriter/heap_table.h"
#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

class HeapMistakes : public Mistakes {
protected:
  // Each thread loads a word of the heap, of which these are the first units, and says which.
  void run_over(const std::vector<std::uint8_t>& units, std::uint32_t is_off = 0,
                bool is_known = true) {
    rewrite_kernel("mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;\n"
                   "ld.global.u32 %r2, [%d4]; st.global.u32 [%d5], %r2;",
                   Bounds::kNever, 0);
    const std::uint64_t heap = world_->block(1024), table = world_->block(1024);
    const std::uint64_t q = world_->block(1024);
    for (std::uint64_t at = heap; at < heap + 1024; at += 512) world_->set_entry(at, kHeapEntry);
    HeapTable head;
    head.units = table + 512;
    head.unit_count = 32;
    head.first = heap;
    head.is_off = is_off;
    std::memcpy(world_->at(table), &head, sizeof head);
    std::memcpy(world_->at(table + 512), units.data(), units.size());
    for (std::uint32_t i = 0; i < 32; ++i) set_word(heap + std::uint64_t{4} * i, 100 + i);
    world_->heap = is_known ? table : 0;
    run(heap, q, 32);
    EXPECT_EQ(faults_, 0u);
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(word(q + std::uint64_t{4} * i), 100 + i);
  }
  // Which threads made a mistake with this entry in its record.
  std::vector<std::uint32_t> threads_with(std::int32_t entry) {
    std::vector<std::uint32_t> threads;
    for (std::uint32_t i = 0; i < world_->used(); ++i) {
      const Record record = world_->record(i);
      if (record.entry == entry && record.kind == kOutOfBoundsCount &&
          record.space == RecordSpace::kGlobal)
        threads.push_back(record.thread[0]);
    }
    return threads;
  }
};

const std::vector<std::uint8_t> kUnits = {
  kPoisonUnit, kBeginUnit | 16, 4, kPoisonUnit, kFreedUnit | kBeginUnit | 16, kFreedUnit | 4, 0, 0};

TEST_P(HeapMistakes, TheUnitsDecide) {
  run_over(kUnits);
  EXPECT_EQ(threads_with(kBesideHeapBlock),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(threads_with(kFreedHeapBlock),
            (std::vector<std::uint32_t>{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(count(0), 19u);
}

TEST_P(HeapMistakes, NothingIsWrongWhereNothingIsKnown) {
  run_over(kUnits, 1);
  EXPECT_EQ(world_->used(), 0u);
  run_over(kUnits, 0, false);
  EXPECT_EQ(world_->used(), 0u);
  EXPECT_EQ(count(0), 0u);
}

// An access across two units must be right in both.
TEST_P(HeapMistakes, BothUnitsOfAnAccessCount) {
  rewrite_kernel("ld.global.v2.u64 {%d3, %d4}, [%d1];", Bounds::kNever, 0);
  const std::uint64_t heap = world_->block(512), table = world_->block(1024);
  world_->set_entry(heap, kHeapEntry);
  HeapTable head;
  head.units = table + 512;
  head.unit_count = 32;
  head.first = heap - 8; // so that an aligned access lies in two
  std::memcpy(world_->at(table), &head, sizeof head);
  for (const unsigned second : {16u, 4u}) {
    const std::uint8_t units[] = {kBeginUnit | 16, static_cast<std::uint8_t>(second)};
    std::memcpy(world_->at(table + 512), units, sizeof units);
    world_->heap = table;
    run(heap, 0);
    EXPECT_EQ(count(0), second == 16 ? 0u : 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Exact, HeapMistakes, exact_checks());

} // namespace
} // namespace gmt::rewriter
