// SPDX-License-Identifier: Apache-2.0
// What is missing in what a copy reads: padding, the end of a block, or more.
#include "simulated_cuda/executor/checks/unwritten_bytes.h"

#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

using Form = UnwrittenBytes::Form;

class UnwrittenTest : public KernelRunner {
protected:
  // A block in which these ranges are written.
  void make(std::uint64_t bytes,
            const std::vector<std::pair<std::uint64_t, std::uint64_t>>& written) {
    block_ = allocate(bytes);
    bytes_ = bytes;
    for (const auto& [at, count] : written) memory_.mark_initialized(block_ + at, count);
  }
  UnwrittenBytes all() const {
    UnwrittenBytes bytes(memory_);
    bytes.add_row(block_, bytes_);
    return bytes;
  }
  Form form() const { return all().form(block_ + bytes_); }
  // `gap` bytes of each element from `at` on are missing.
  Form of_elements(std::uint64_t count, std::uint64_t stride, std::uint64_t at, std::uint64_t gap) {
    make(count * stride, {{0, count * stride}});
    for (std::uint64_t i = 0; i < count; ++i)
      memory_.mark_uninitialized(block_ + i * stride + at, gap);
    return form();
  }

  std::uint64_t block_ = 0, bytes_ = 0;
};

TEST_F(UnwrittenTest, AllNothingAndAPart) {
  make(128, {});
  EXPECT_EQ(form(), Form::kWhole);
  make(128, {{0, 128}});
  EXPECT_EQ(form(), Form::kNone);
  make(4096, {{0, 1000}, {1040, 3056}});
  EXPECT_EQ(form(), Form::kPart);
  EXPECT_EQ(all().missing(), 40u);
  EXPECT_EQ(all().first(), block_ + 1000);
  make(4096, {{2048, 2048}});
  EXPECT_EQ(form(), Form::kPart);
}

TEST_F(UnwrittenTest, TheEndOfABlock) {
  make(776, {{0, 512}});
  EXPECT_EQ(form(), Form::kTail);
  EXPECT_EQ(all().missing(), 264u);
  // The copy ends before the block, and what follows is written
  UnwrittenBytes half(memory_);
  memory_.mark_initialized(block_ + 700, 76);
  half.add_row(block_, 600);
  EXPECT_EQ(half.form(block_ + bytes_), Form::kPart);
}

TEST_F(UnwrittenTest, PaddingOfStructures) {
  EXPECT_EQ(of_elements(8, 16, 1, 7), Form::kGaps);
  EXPECT_EQ(of_elements(1, 16, 1, 7), Form::kGaps);
  EXPECT_EQ(of_elements(1, 16, 12, 4), Form::kGaps);
  EXPECT_EQ(of_elements(100, 24, 20, 4), Form::kGaps);
  EXPECT_EQ(of_elements(2, 24, 20, 4), Form::kGaps);
  EXPECT_EQ(of_elements(3, 512, 100, 412), Form::kGaps);
}

TEST_F(UnwrittenTest, TwoGapsInEachStructure) {
  of_elements(10, 32, 1, 3);
  for (std::uint64_t i = 0; i < 10; ++i) memory_.mark_uninitialized(block_ + 32 * i + 20, 4);
  EXPECT_EQ(form(), Form::kGaps);
  memory_.mark_uninitialized(block_ + 200, 8); // a member that was forgotten
  EXPECT_EQ(form(), Form::kPart);
}

TEST_F(UnwrittenTest, TwoRowsOfPitchedMemory) {
  EXPECT_EQ(of_elements(2, 512, 100, 412), Form::kGaps);
  EXPECT_EQ(of_elements(2, 500, 100, 300), Form::kPart) << "no row of pitched memory ends there";
}

TEST_F(UnwrittenTest, StructuresOfWhichTheLastOnesAreMissing) {
  of_elements(10, 16, 1, 7);
  memory_.mark_uninitialized(block_ + 8 * 16, 32);
  EXPECT_EQ(form(), Form::kTail);
}

TEST_F(UnwrittenTest, RowsOfACopy) {
  make(1024, {{0, 100}, {512, 100}});
  UnwrittenBytes rows(memory_);
  for (const std::uint64_t row : {0u, 1u}) rows.add_row(block_ + 512 * row, 100);
  EXPECT_EQ(rows.form(block_ + bytes_), Form::kNone);
  EXPECT_EQ(rows.read(), 200u);
}

TEST_F(UnwrittenTest, WhatAKernelStoredUnwrittenIsNoUnusedEnd) {
  make(256, {{0, 128}});
  EXPECT_EQ(form(), Form::kTail);
  memory_.note_moved(block_ + 160, 4);
  memory_.note_moved(block_ + 164, 4);
  EXPECT_EQ(form(), Form::kPart);
  memory_.free(block_, 256);
  memory_.allocate(block_, 256);
  memory_.mark_initialized(block_, 128);
  EXPECT_EQ(form(), Form::kTail);
}

TEST_F(UnwrittenTest, RangesThatWereMovedAreFound) {
  memory_.note_moved(1000, 8);
  memory_.note_moved(1016, 8);
  memory_.note_moved(1008, 8); // between them
  EXPECT_TRUE(memory_.has_moved(0, 1001));
  EXPECT_FALSE(memory_.has_moved(0, 1000));
  EXPECT_TRUE(memory_.has_moved(1023, 100));
  EXPECT_FALSE(memory_.has_moved(1024, 100));
  memory_.allocate(1004, 4);
  EXPECT_TRUE(memory_.has_moved(1000, 4));
  EXPECT_FALSE(memory_.has_moved(1004, 4));
  EXPECT_TRUE(memory_.has_moved(1008, 4));
}

} // namespace
} // namespace gmt::executor
