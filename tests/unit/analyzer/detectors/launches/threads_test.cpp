// SPDX-License-Identifier: Apache-2.0
// Threads that follow one another in a log, and threads that go on in another: each has its
// identity.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

class Threads : public StreamOrders {
protected:
  void SetUp() override {
    begin_thread(1);
    StreamOrders::SetUp();
  }
  void begin_thread(std::uint64_t number, unsigned in_log = 0) {
    log(in_log).record({.api = ""}, Made<trace::ThreadFields>().id(4000 + number).number(number));
  }
};

TEST_F(Threads, ThatShareALogHaveTheirOwnDefaultStreams) {
  malloc_on(kThread);
  begin_thread(2);
  set_on(kThread);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.process.totals.threads, 2u);
}

TEST_F(Threads, ThatGoOnInAnotherLogAreTheSame) {
  malloc_on(kThread);
  begin_thread(1, 1); // the file was full
  set_on(kThread, kA, 1);
  begin_thread(2); // makes no call
  begin_thread(1);
  set_on(kThread);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.threads, 1u);
}

// As every trace before 1.5 has it.
class ThreadsWithoutRecords : public StreamOrders {};

TEST_F(ThreadsWithoutRecords, ALogIsAThread) {
  malloc_on(kThread);
  set_on(kThread);
  set_on(kThread, kA, 1);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.process.totals.threads, 2u);
}

// Far more than the clock has room for at a time, and than a reader holds in memory at once.
TEST_F(Threads, ManyShortOnes) {
  for (std::uint64_t number = 1; number <= 5000; ++number) {
    begin_thread(number);
    malloc_on(kThread);
    set_on(kThread);
    free_on(kThread);
  }
  begin_thread(5001);
  malloc_on(kThread);
  begin_thread(5002);
  set_on(kThread);
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].count, 1u);
  EXPECT_EQ(result.process.totals.threads, 5002u);
  EXPECT_FALSE(is_not_checked("stream-order"));
}

// The last call of a thread may take its number in the order before the log is leased on.
TEST_F(Threads, RecordsOutOfOrderStayWithTheirThread) {
  log().alloc({.api = "cuMemAllocAsync", .stack = {0x100}, .order = 40}, MemoryKind::kStreamOrdered,
              kA, kMiB, kThread);
  log().record({.api = "cuMemsetD8Async", .order = 39, .flags = trace::kSetAsync},
               Made<trace::SetFields>().destination(kB).bytes(4096).stream(kThread));
  log().record({.api = "", .order = 41}, Made<trace::ThreadFields>().id(4002).number(2));
  log().record({.api = "cuMemsetD8Async", .order = 43, .flags = trace::kSetAsync},
               Made<trace::SetFields>().destination(kB).bytes(4096).stream(kThread));
  log().record({.api = "cuMemsetD8Async", .order = 42, .flags = trace::kSetAsync},
               Made<trace::SetFields>().destination(kA).bytes(4096).stream(kThread));
  run();
  EXPECT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.process.totals.threads, 2u);
}

} // namespace
} // namespace gmt::test
