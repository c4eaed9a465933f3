// SPDX-License-Identifier: Apache-2.0
// A trace that lost a part of itself says so; one that is short for a reason that it says does
// not.

#include "analyzer/trace_reader/missing_records.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

#include <unistd.h>

namespace gmt::test {
namespace {

namespace fs = std::filesystem;
using trace::LossCause;

class MissingRecords : public AnalysisTest {
protected:
  MissingRecords() { trace.format = "1.5"; }

  void pairs(std::size_t thread, int count) {
    for (int i = 0; i < count; ++i) {
      log(thread).alloc({.api = "cuMemAlloc_v2"}, MemoryKind::kDevice, kA, 64);
      log(thread).release({.api = "cuMemFree_v2"}, FreeFunction::kMemFree, kA);
    }
  }
  // Two threads in turn; the second one's log is then deleted.
  void lose_a_log(int each) {
    for (int i = 0; i < 3; ++i) {
      pairs(0, each);
      pairs(1, each);
    }
    pairs(0, 1);
    trace.write(path());
    fs::remove(path() / "t1001-0.log");
  }
  fs::path path() const { return directory.path() / "trace"; }
  std::uint64_t missing() {
    result = analyze(path());
    const auto found = result.process.lost.find("missing from the trace");
    EXPECT_EQ(found != result.process.lost.end(), !result.process.missing.empty());
    return found != result.process.lost.end() ? found->second : 0;
  }
  std::uint64_t missing_of_written() {
    trace.write(path());
    return missing();
  }
};

TEST_F(MissingRecords, AThreadsLog) {
  lose_a_log(5);
  EXPECT_EQ(missing(), 30u);
  EXPECT_EQ(result.process.lost.size(), 1u);
  EXPECT_TRUE(is_not_checked("memory findings", "30 records are missing from the trace"));
  EXPECT_TRUE(is_not_checked("leak", "30 records are missing from the trace"));
}

TEST_F(MissingRecords, NothingIsMissingWithBothLogs) {
  pairs(0, 10);
  pairs(1, 10);
  pairs(0, 10);
  EXPECT_EQ(missing_of_written(), 0u);
}

TEST_F(MissingRecords, OlderTracesAreNotChecked) {
  trace.format = "1.4";
  lose_a_log(5);
  EXPECT_EQ(missing(), 0u);
}

TEST_F(MissingRecords, TheEndOfAKilledProcessIsNoGap) {
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  pairs(0, 10);
  pairs(1, 10); // nothing comes behind it
  trace.write(path());
  fs::remove(path() / "t1001-0.log");
  EXPECT_EQ(missing(), 0u);
}

TEST_F(MissingRecords, ACallOfEachThreadMayBeCutByTheEnd) {
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  pairs(0, 2);
  trace.next_order(); // taken, and killed before the record stood
  pairs(1, 2);
  trace.next_order();
  pairs(0, 1);
  EXPECT_EQ(missing_of_written(), 0u);
}

TEST_F(MissingRecords, ButNotTheOneThatSaidTheLastWords) {
  pairs(0, 2);
  trace.next_order();
  pairs(0, 1);
  EXPECT_EQ(missing_of_written(), 1u);
}

TEST_F(MissingRecords, WhatWasDroppedIsCountedAlready) {
  log().header.lost[static_cast<std::size_t>(LossCause::kTraceLimit)] = 200;
  pairs(0, 10);
  for (int i = 0; i < 200; ++i) trace.next_order();
  pairs(0, 10);
  EXPECT_EQ(missing_of_written(), 0u);
  EXPECT_EQ(result.process.lost.size(), 1u) << "the loss that the log tells";
}

TEST_F(MissingRecords, MoreThanWasDroppedIsMissing) {
  log().header.lost[static_cast<std::size_t>(LossCause::kTraceLimit)] = 5;
  log().header.lost[static_cast<std::size_t>(LossCause::kNoRing)] = 900; // modules
  lose_a_log(5);
  EXPECT_EQ(missing(), 25u);
}

TEST_F(MissingRecords, TornSlotsHadAnOrder) {
  pairs(0, 2);
  for (int i = 0; i < 4; ++i) {
    log().torn();
    trace.next_order();
  }
  pairs(0, 2);
  EXPECT_EQ(missing_of_written(), 0u);
}

TEST_F(MissingRecords, ABatchThatNeverReturned) {
  trace.complete = "how=signalled\nstatus=0\nsignal=9\ncore=0\n";
  const Call batch{
    .api = "cuMemcpyBatchAsync", .result = trace::kResultInFlight, .flags = trace::kCopyBatched};
  log(0).copy(batch, kA, kB, 64);
  for (int i = 1; i < 1000; ++i) trace.next_order(); // its other members
  pairs(1, 5);
  EXPECT_EQ(missing_of_written(), 0u);
}

TEST_F(MissingRecords, ABatchWhoseMembersWereBeingWritten) {
  const Call member{.api = "cuMemcpyBatchAsync", .flags = trace::kCopyBatched};
  for (int i = 0; i < 3; ++i) log(0).copy(member, kA, kB, 64);
  for (int i = 3; i < 1000; ++i) trace.next_order();
  pairs(1, 5);
  EXPECT_EQ(missing_of_written(), 0u);
  log(0).copy(member, kA, kB, 64); // that thread went on
  EXPECT_EQ(missing_of_written(), 997u);
}

TEST_F(MissingRecords, AProcessThatStillRunsElsewhere) {
  trace.complete.clear();
  lose_a_log(5);
  EXPECT_EQ(missing(), 0u) << "host=box";
}

TEST_F(MissingRecords, HolesInTheNumberingOfLogs) {
  pairs(0, 2);
  trace.write(path());
  fs::rename(path() / "t1000-0.log", path() / "t1000-0.0.log");
  EXPECT_EQ(missing_logs(open_trace(path()).value()), std::vector<std::string>());
  fs::copy(path() / "t1000-0.0.log", path() / "t1003-3.0.log");
  fs::copy(path() / "t1000-0.0.log", path() / "t1003-3.2.log");
  fs::copy(path() / "t1000-0.0.log", path() / "device-1.log");
  fs::copy(path() / "t1000-0.0.log", path() / "device-2.1.log");
  fs::copy(path() / "t1000-0.0.log", path() / "access-1.log");
  EXPECT_EQ(missing_logs(open_trace(path()).value()),
            (std::vector<std::string>{"t*-1.0.log", "t*-2.0.log", "access-0.log", "device-2.log",
                                      "t1003-3.1.log"}));
  result = analyze(path());
  EXPECT_EQ(result.process.missing,
            "the trace lacks the log device-2.log; the trace lacks the log access-0.log; "
            "the trace lacks the logs t*-1.0.log, t*-2.0.log, t1003-3.1.log");
  EXPECT_TRUE(is_not_checked("memory findings", "t1003-3.1.log"));
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "device-2.log"));
  EXPECT_TRUE(is_not_checked("memory accesses", "access-0.log"));
}

} // namespace
} // namespace gmt::test
