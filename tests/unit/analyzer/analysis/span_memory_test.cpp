// SPDX-License-Identifier: Apache-2.0
// Which memory is a span's: begins, pauses within pauses, and the peak of what is left.

#include "analyzer/analysis/live/span_memory.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace gmt {
namespace {

Block block_of(std::uint64_t order, std::uint64_t bytes) {
  Block block;
  block.allocated_at = order & kOrderMask;
  block.bytes = bytes;
  return block;
}

void allocate(SpanMemory& span, const Block& block) {
  span.on_change({.block = block, .bytes = static_cast<std::int64_t>(block.bytes)});
}
void release(SpanMemory& span, const Block& block) {
  span.on_change({.block = block, .bytes = -static_cast<std::int64_t>(block.bytes)});
}

TEST(SpanMemory, BeginsBehindACall) {
  SpanMemory span;
  EXPECT_TRUE(span.contains(block_of(1, 8)));
  span.begin(5);
  EXPECT_FALSE(span.contains(block_of(5, 8)));
  EXPECT_TRUE(span.contains(block_of(6, 8)));
}

TEST(SpanMemory, PausesAreLeftOut) {
  SpanMemory span;
  span.begin(10);
  span.pause(12);
  span.pause(13);
  span.resume(14); // the inner one
  EXPECT_FALSE(span.contains(block_of(20, 8)));
  span.resume(16);
  span.resume(17); // no pause is open
  EXPECT_TRUE(span.contains(block_of(12, 8)));
  EXPECT_FALSE(span.contains(block_of(13, 8)));
  EXPECT_FALSE(span.contains(block_of(16, 8)));
  EXPECT_TRUE(span.contains(block_of(17, 8)));
  span.pause(30);
  EXPECT_FALSE(span.contains(block_of(31, 8)));
  span.begin(40); // forgets what was open
  EXPECT_TRUE(span.contains(block_of(41, 8)));
}

TEST(SpanMemory, ThePeakIsOfItsOwnBlocks) {
  SpanMemory span;
  const Block before = block_of(3, 1000);
  allocate(span, before);
  span.begin(3);
  const Block first = block_of(4, 100), second = block_of(5, 200), third = block_of(8, 50);
  allocate(span, first);
  release(span, before);
  allocate(span, second);
  release(span, first);
  span.pause(6);
  const Block paused = block_of(7, 5000);
  allocate(span, paused);
  span.resume(7);
  allocate(span, third);
  EXPECT_EQ(span.live_bytes(), 250u);
  EXPECT_EQ(span.peak_bytes(), 300u);
}

} // namespace
} // namespace gmt
