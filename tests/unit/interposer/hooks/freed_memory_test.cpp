// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA's in the C library's free() and realloc(): one record for a block that was
// allocated by CUDA, before the real call; of registered memory when it has gone.
#include <gtest/gtest.h>

#include <cerrno>

#include "interposer/driver_state/host_blocks.h"
#include "interposer/hooks/freed_memory.h"
#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"
#include "trace/api_id.h"

namespace gmt::interposer {
namespace {

using trace::Kind;

constexpr std::uint64_t kBlock = 0x7f0000001000;
void* const kPointer = reinterpret_cast<void*>(kBlock);

void* realloc_answer = nullptr;
std::size_t records_at_realloc = 0;
void* made_up_realloc(void* pointer, std::size_t) {
  records_at_realloc = 0;
  for (const Recorded& record : all_records())
    records_at_realloc += record.head.kind == Kind::kFree;
  errno = EDOM;
  return realloc_answer == nullptr ? pointer : realloc_answer;
}

class InterposerFreedMemory : public RecordedTest {
protected:
  void SetUp() override {
    ASSERT_NE(thread_log(), nullptr);
    forget_host_memory();
    realloc_answer = nullptr;
    RecordedTest::SetUp();
  }
  void record_freed_here(void* pointer) {
    record_freed(pointer, __builtin_return_address(0), __builtin_frame_address(0));
  }
  void* reallocate(void* pointer, std::size_t bytes) {
    return record_and_realloc(pointer, bytes, made_up_realloc, __builtin_return_address(0),
                              __builtin_frame_address(0));
  }
};

TEST_F(InterposerFreedMemory, ABlockOfCudasIsRecordedOnce) {
  add_host_block(kBlock);
  EXPECT_TRUE(may_be_followed(kPointer));
  errno = EAGAIN;
  record_freed_here(kPointer);
  EXPECT_EQ(errno, EAGAIN);
  record_freed_here(kPointer);
  const Recorded record = only(Kind::kFree);
  EXPECT_EQ(record.head.api, trace::kOther_free);
  EXPECT_EQ(trace::FreeView(record).address(), kBlock);
  EXPECT_EQ(trace::FreeView(record).function(), trace::FreeFunction::kHostFree);
  EXPECT_FALSE(may_be_followed(kPointer));
}

TEST_F(InterposerFreedMemory, OtherMemoryIsNotRecorded) {
  add_host_block(kBlock);
  record_freed_here(reinterpret_cast<void*>(kBlock + 0x1000));
  record_freed_here(nullptr);
  EXPECT_EQ(reallocate(nullptr, 8), nullptr);
  EXPECT_TRUE(fresh(Kind::kFree).empty());
}

TEST_F(InterposerFreedMemory, ReallocOfCudasIsRecordedBeforeTheCall) {
  add_host_block(kBlock);
  EXPECT_EQ(reallocate(kPointer, 8), kPointer);
  EXPECT_EQ(errno, EDOM) << "the call's own";
  EXPECT_EQ(only(Kind::kFree).head.api, trace::kOther_realloc);
  const std::size_t behind = records_at_realloc;
  reallocate(nullptr, 8);
  EXPECT_EQ(records_at_realloc, behind);
}

TEST_F(InterposerFreedMemory, RegisteredMemoryThatStaysIsFollowedOn) {
  add_host_block(kBlock | kRegistered);
  EXPECT_EQ(reallocate(kPointer, 8), kPointer);
  EXPECT_TRUE(fresh(Kind::kFree).empty());
  EXPECT_EQ(remove_host_block(kBlock), kBlock | kRegistered);
}

TEST_F(InterposerFreedMemory, RegisteredMemoryThatMovesIsRecordedThen) {
  add_host_block(kBlock | kRegistered);
  realloc_answer = reinterpret_cast<void*>(kBlock + 0x4000);
  EXPECT_EQ(reallocate(kPointer, 8), realloc_answer);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(trace::FreeView(only(Kind::kFree)).address(), kBlock);
  EXPECT_EQ(remove_host_block(kBlock), 0u);
}

} // namespace
} // namespace gmt::interposer
