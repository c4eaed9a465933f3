// SPDX-License-Identifier: Apache-2.0
// The scopes of calls without their entries: batches, runtime calls inside each other, and memory
// of the host's where a block lay before.
#include "interposer/calls/call.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include "interposer/calls/host_memory.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"

namespace gmt::interposer {
namespace {

using trace::Kind;

constexpr std::uint16_t kDriverRow = trace::kApi_cuMemFree_v2, kRuntimeRow = trace::kApi_cudaFree;

class InterposerCalls : public RecordedTest {
protected:
  void SetUp() override {
    ASSERT_NE(thread_log(), nullptr);
    RecordedTest::SetUp();
  }
  void TearDown() override { forget_retired_memory(); }
};

void fill_release(Record& record, std::uint64_t address) {
  record.kind = Kind::kFree;
  record.use(trace::FreeWord::kCount);
  trace::FreeFields(record).address(address).function(trace::FreeFunction::kMemFree);
}

// A driver call of one record.
[[gnu::noinline]] void call_driver(std::uint64_t address, std::uint16_t result = 0) {
  Call call(kDriverRow, __builtin_return_address(0), __builtin_frame_address(0));
  ASSERT_TRUE(call.begin(true));
  fill_release(call.record, address);
  call.publish_in_flight();
  call.complete(result, false);
}

TEST_F(InterposerCalls, MembersOfABatchHaveTheirOrdersFromTheBeginning) {
  std::uint64_t last = 0;
  {
    Call call(kDriverRow, __builtin_return_address(0), __builtin_frame_address(0));
    ASSERT_TRUE(call.begin(true));
    fill_release(call.record, 0x1000);
    call.publish_in_flight(3);
    last = Process::current_order();
    Process::next_order(); // another thread's
    call.complete(0, false);
    for (unsigned i = 1; i < 3; ++i) {
      call.begin_member();
      fill_release(call.record, 0x1000 * (i + 1));
      call.add_member(i, 0);
    }
  }
  const std::vector<Recorded> records = fresh(Kind::kFree);
  ASSERT_EQ(records.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].order, last - 2 + i);
    EXPECT_EQ(trace::FreeView(records[i]).address(), 0x1000u * (i + 1));
    EXPECT_EQ(records[i].head.result, 0);
  }
}

[[gnu::noinline]] void call_runtime(unsigned depth, std::uint16_t result) {
  RuntimeCall call(kRuntimeRow, __builtin_frame_address(0));
  fill_release(call.record, 0x2000);
  call.enter();
  if (depth != 0) call_runtime(depth - 1, result);
  else call_driver(0x2000, result);
  call.leave(result, __builtin_return_address(0));
}

TEST_F(InterposerCalls, TheInnermostRuntimeCallLendsItsName) {
  call_runtime(2, 0);
  const Recorded record = only(Kind::kFree);
  EXPECT_EQ(record.via, kRuntimeRow);
  EXPECT_EQ(record.head.api, kDriverRow);
}

TEST_F(InterposerCalls, RuntimeCallsThatFailWithTheDriverHaveNoRecordOfTheirOwn) {
  call_runtime(2, 1);
  EXPECT_EQ(only(Kind::kFree).head.result, 1);
}

TEST_F(InterposerCalls, RuntimeCallsDeeperThanIsKeptChangeNothing) {
  call_runtime(3 * kMaxRuntimeScopes, 0);
  EXPECT_EQ(only(Kind::kFree).via, kRuntimeRow);
  SetUp();
  call_driver(0x3000);
  EXPECT_EQ(only(Kind::kFree).via, trace::kNoApi) << "all have been left";
}

[[gnu::noinline]] bool repeats(std::uint16_t row) {
  const RuntimeCall call(row, __builtin_frame_address(0));
  return call.is_repeated();
}

TEST_F(InterposerCalls, AWrappersCallOfTheSameFunctionIsNoticed) {
  EXPECT_FALSE(repeats(kRuntimeRow));
  RuntimeCall outer(kRuntimeRow, __builtin_frame_address(0));
  fill_release(outer.record, 0x4000);
  outer.enter();
  EXPECT_TRUE(repeats(kRuntimeRow));
  EXPECT_FALSE(repeats(trace::kApi_cudaMalloc));
  outer.leave(0, nullptr);
  EXPECT_FALSE(repeats(kRuntimeRow));
}

TEST_F(InterposerCalls, AnExitAndTextsAreNoCalls) {
  record_exit(trace::ExitWay::kExit, 3);
  const Recorded record = only(Kind::kExit);
  EXPECT_EQ(record.head.api, trace::kNoApi);
  EXPECT_EQ(trace::ExitView(record).status(), 3u);
  const std::uint64_t id = record_text("a name");
  EXPECT_EQ(text_of_id(id), "a name");
  EXPECT_EQ(record_text("a name"), id);
}

// ---- memory of the host's where a block lay before

constexpr std::size_t kPiece = std::size_t{1} << kPieceBits;

// Memory that the host can read, aligned to a piece; a block lay there and has gone.
struct HostPiece {
  HostPiece() {
    memory_ = mmap(nullptr, 2 * kPiece, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    address = (reinterpret_cast<std::uint64_t>(memory_) + kPiece - 1) & ~(kPiece - 1);
    *reinterpret_cast<char*>(address) = 1;
    Record record;
    record.kind = Kind::kAlloc;
    record.use(trace::kFirstPayloadWords);
    trace::AllocFields(record).address(address).bytes(kPiece);
    trace::AllocFields(record).memory_kind(trace::MemoryKind::kDevice);
    follow_retired_memory(record);
    record.reset();
    fill_release(record, address);
    follow_retired_memory(record);
  }
  ~HostPiece() { munmap(memory_, 2 * kPiece); }
  HostPiece(const HostPiece&) = delete;
  HostPiece& operator=(const HostPiece&) = delete;
  std::uint64_t address = 0;

private:
  void* memory_ = nullptr;
};

Record copy_to(std::uint64_t address) {
  Record record;
  record.kind = Kind::kCopy;
  record.use(trace::CopyWord::kCount);
  trace::CopyFields(record).destination(address).source(0x10);
  return record;
}

TEST_F(InterposerCalls, MemoryOfTheHostsWhereABlockLayIsNotedOnce) {
  const HostPiece piece;
  ASSERT_TRUE(is_retired(piece.address));
  const Record copy = copy_to(piece.address + 24);
  look_for_host_memory(*thread_log(), copy);
  look_for_host_memory(*thread_log(), copy);
  const Recorded record = only(Kind::kHostMemory);
  EXPECT_EQ(trace::HostMemoryView(record).address(), piece.address);
  EXPECT_EQ(trace::HostMemoryView(record).bytes(), kHostPage);
}

TEST_F(InterposerCalls, OnlyWordsThatAreAddressesAreLookedAt) {
  const HostPiece piece;
  Record record;
  record.kind = Kind::kSync;
  record.use(trace::kFirstPayloadWords);
  record.set(0, piece.address);
  look_for_host_memory(*thread_log(), record);
  look_for_host_memory(*thread_log(), copy_to(0x7000));
  EXPECT_TRUE(fresh(Kind::kHostMemory).empty());
  EXPECT_EQ(named_addresses(record).end, 0u);
  record.kind = Kind::kLaunch;
  record.words = trace::LaunchWord::kCount + 2;
  EXPECT_EQ(named_addresses(record).first, unsigned{trace::LaunchWord::kCount});
  EXPECT_EQ(named_addresses(record).end, unsigned{trace::LaunchWord::kCount} + 2);
}

} // namespace
} // namespace gmt::interposer
