// SPDX-License-Identifier: Apache-2.0
// What the library follows of CUDA's memory: where no block lies any more, what the host can read
// there, and which blocks the trace does not know.
#include <gtest/gtest.h>

#include <cstdint>
#include <sys/mman.h>

#include "interposer/driver_state/retired_memory.h"
#include "interposer/driver_state/unrecorded_blocks.h"

namespace gmt::interposer {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;

constexpr std::uint64_t kPiece = 1 << kPieceBits, kBase = 0x7f0000000000;

Record allocation(std::uint64_t address, std::uint64_t bytes,
                  MemoryKind memory = MemoryKind::kDevice) {
  Record record;
  record.kind = trace::Kind::kAlloc;
  record.use(trace::kFirstPayloadWords);
  trace::AllocFields(record).address(address).bytes(bytes).memory_kind(memory);
  return record;
}

Record release(std::uint64_t address, FreeFunction function = FreeFunction::kMemFree,
               std::uint64_t bytes = 0) {
  Record record;
  record.kind = trace::Kind::kFree;
  record.use(trace::FreeWord::kCount);
  trace::FreeFields(record).address(address).function(function).bytes(bytes);
  return record;
}

void follow(const Record& record) {
  if (concerns_retired_memory(record)) follow_retired_memory(record);
}

class RetiredMemory : public testing::Test {
protected:
  void TearDown() override { forget_retired_memory(); }
};

TEST_F(RetiredMemory, IsWhereTheLastBlockWasFreed) {
  follow(allocation(kBase, 2 * kPiece));
  EXPECT_FALSE(is_retired(kBase));
  follow(release(kBase));
  EXPECT_TRUE(any_retired_memory.load());
  EXPECT_TRUE(is_retired(kBase));
  EXPECT_TRUE(is_retired(trace::argument_word(kBase + 2 * kPiece - 1, 5)));
  EXPECT_FALSE(is_retired(kBase + 2 * kPiece));
  EXPECT_FALSE(is_retired(kBase - 1));
}

TEST_F(RetiredMemory, IsNoneBesideALiveBlock) {
  follow(allocation(kBase, 512));
  follow(allocation(kBase + 512, kPiece));
  follow(release(kBase));
  EXPECT_FALSE(is_retired(kBase));
  follow(release(kBase + 512));
  EXPECT_TRUE(is_retired(kBase));
  EXPECT_TRUE(is_retired(kBase + kPiece));
}

TEST_F(RetiredMemory, EndsWithTheNextBlock) {
  follow(allocation(kBase, kPiece));
  follow(release(kBase));
  follow(allocation(kBase + 4096, 512, MemoryKind::kPinned));
  EXPECT_FALSE(is_retired(kBase));
  follow(release(kBase + 4096, FreeFunction::kMemFreeHost));
  EXPECT_TRUE(is_retired(kBase));
}

TEST_F(RetiredMemory, IsNoneWhereTheDriverKeepsTheMapping) {
  void* const page = mmap(nullptr, kHostPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(page);
  follow(allocation(address, 512, MemoryKind::kPinned));
  follow(release(address, FreeFunction::kMemFreeHost));
  EXPECT_FALSE(is_retired(address));
  ASSERT_EQ(munmap(page, kHostPage), 0);
  follow(allocation(address, 512, MemoryKind::kPinned));
  follow(release(address, FreeFunction::kMemFreeHost));
  EXPECT_TRUE(is_retired(address));
}

TEST_F(RetiredMemory, IsNoneOfAPool) {
  follow(allocation(kBase, kPiece, MemoryKind::kStreamOrdered));
  follow(release(kBase, FreeFunction::kMemFreeAsync));
  follow(release(kBase));
  EXPECT_FALSE(is_retired(kBase));
}

TEST_F(RetiredMemory, OneUnmappingEndsMappingsSideBySide) {
  for (std::uint64_t i = 0; i < 3; ++i)
    follow(allocation(kBase + i * kPiece, kPiece, MemoryKind::kVmmMapping));
  follow(release(kBase, FreeFunction::kMemUnmap, 2 * kPiece));
  EXPECT_TRUE(is_retired(kBase));
  EXPECT_TRUE(is_retired(kBase + kPiece));
  EXPECT_FALSE(is_retired(kBase + 2 * kPiece));
}

TEST_F(RetiredMemory, IsAllOfAContextThatEnded) {
  follow(allocation(kBase, kPiece));
  retire_all_memory();
  EXPECT_TRUE(is_retired(kBase));
  follow(release(kBase)); // not known any more
  EXPECT_TRUE(is_retired(kBase));
}

TEST_F(RetiredMemory, IsForgottenByAForkedChild) {
  follow(allocation(kBase, kPiece));
  follow(release(kBase));
  forget_retired_memory();
  EXPECT_FALSE(is_retired(kBase));
  EXPECT_FALSE(any_retired_memory.load());
}

TEST_F(RetiredMemory, OfTheHostIsAskedForOnceAPage) {
  char* pages = static_cast<char*>(
    mmap(nullptr, 2 * kHostPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + kHostPage, kHostPage, PROT_NONE), 0);
  const auto readable = reinterpret_cast<std::uint64_t>(pages);
  EXPECT_TRUE(is_newly_hosts(readable + 8));
  EXPECT_TRUE(is_newly_hosts(readable)) << "until it is remembered";
  remember_hosts(readable);
  EXPECT_FALSE(is_newly_hosts(readable + 16));
  EXPECT_FALSE(is_newly_hosts(readable + kHostPage)) << "a reservation without access";
  ASSERT_EQ(mprotect(pages + kHostPage, kHostPage, PROT_READ), 0);
  EXPECT_TRUE(is_newly_hosts(readable + kHostPage)) << "asked again";
  follow(allocation(kBase, kPiece));
  follow(release(kBase));
  EXPECT_TRUE(is_newly_hosts(readable)) << "a block has ended since";
  munmap(pages, 2 * kHostPage);
}

TEST_F(RetiredMemory, WithoutAccessIsSeldomAskedForAgain) {
  char* page =
    static_cast<char*>(mmap(nullptr, kHostPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(page);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(is_newly_hosts(address));
  ASSERT_EQ(mprotect(page, kHostPage, PROT_READ), 0);
  int tries = 1;
  while (!is_newly_hosts(address) && tries < 1000) ++tries;
  EXPECT_GT(tries, 1);
  EXPECT_LE(tries, 64);
  munmap(page, kHostPage);
}

TEST(UnrecordedBlocks, AreTakenOnceByTheirRelease) {
  EXPECT_FALSE(is_unrecorded(release(kBase)));
  follow_unrecorded_blocks(allocation(kBase, 64), false);
  EXPECT_FALSE(is_unrecorded(release(kBase + 64)));
  EXPECT_FALSE(is_unrecorded(allocation(kBase, 64)));
  EXPECT_TRUE(is_unrecorded(release(kBase)));
  EXPECT_FALSE(is_unrecorded(release(kBase)));
  forget_unrecorded_blocks();
}

TEST(UnrecordedBlocks, EndWhereARecordedOneBegins) {
  follow_unrecorded_blocks(allocation(kBase, 64), false);
  follow_unrecorded_blocks(allocation(kBase, 64), true);
  EXPECT_FALSE(is_unrecorded(release(kBase)));
  forget_unrecorded_blocks();
}

} // namespace
} // namespace gmt::interposer
