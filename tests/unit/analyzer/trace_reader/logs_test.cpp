// SPDX-License-Identifier: Apache-2.0
// Logs that are not as they should be: torn slots, losses, damaged records and headers, inversions,
// holes, files that end anywhere.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/trace_reader/event_stream.h"
#include "tests/support/test_share.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

namespace fs = std::filesystem;

class Logs : public AnalysisTest {
protected:
  fs::path log_path(int number = 0) const {
    return directory.path() / "trace" / ("t" + std::to_string(1000 + number) + "-0.log");
  }
  static trace::Slot slot(Kind kind, std::uint8_t slots, std::uint64_t order) {
    trace::Slot s{};
    s.head = trace::pack({kind, slots, 0, 0, 0});
    s.order = order;
    s.via = trace::kNoApi;
    return s;
  }
};

TEST_F(Logs, TornSlotsAreCountedAndSkipped) {
  cuda_malloc(kA, kMiB);
  log().torn();
  log().torn();
  cuda_free(kA);
  run();
  EXPECT_EQ(result.process.torn, 2u);
  EXPECT_EQ(result.process.damaged, 0u);
  EXPECT_EQ(result.process.totals.events, 2u);
  EXPECT_TRUE(is_not_checked("memory findings", "2 records never finished"));
}

TEST_F(Logs, TornRecordOfSeveralSlots) {
  log().torn();
  log().slot(slot(Kind::kMore, 1, 0));
  log().slot(slot(Kind::kMore, 1, 0));
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  run();
  EXPECT_EQ(result.process.torn, 1u);
  EXPECT_EQ(result.process.damaged, 0u);
}

TEST_F(Logs, ZerosAtTheEndAreNotTorn) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  trace.zero_slots = 100'000;
  run();
  EXPECT_EQ(result.process.torn, 0u);
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(Logs, AbandonedRecords) {
  log().slot(slot(Kind::kAbandoned, 3, 0));
  log().torn(); // never written: belongs to it
  log().slot(slot(Kind::kMore, 1, 0));
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  run();
  EXPECT_TRUE(result.not_checked.empty());
  EXPECT_EQ(result.process.totals.events, 2u);
}

TEST_F(Logs, UnknownKindsAreSkippedWithTheirContinuation) {
  log().slot(slot(static_cast<Kind>(77), 2, 1));
  log().slot(slot(Kind::kMore, 1, 0));
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  run();
  EXPECT_EQ(result.process.damaged, 0u);
  EXPECT_EQ(result.process.totals.events, 2u);
  EXPECT_TRUE(is_not_checked("calls of a newer format", "1 record of kinds"));
}

TEST_F(Logs, DamagedRecords) {
  log().slot(slot(Kind::kAlloc, 0, 1));   // no slots
  log().slot(slot(Kind::kAlloc, 200, 1)); // too many
  log().slot(slot(Kind::kAlloc, 3, 1));   // continuation missing
  log().slot(slot(Kind::kMore, 1, 0));
  cuda_malloc(kA, kMiB);                // its stack record comes first
  log().slot(slot(Kind::kMore, 1, 0));  // belongs to nothing
  log().slot(slot(Kind::kStack, 1, 0)); // id 0
  cuda_free(kA);
  run();
  EXPECT_EQ(result.process.damaged, 5u);
  EXPECT_EQ(result.process.totals.events, 2u);
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory findings", "5 records in the trace damaged"));
}

TEST_F(Logs, FarStackIdsCostNoMemory) {
  trace::Slot s = slot(Kind::kStack, 1, 0);
  s.a[0] = 0xfffffff0;
  s.a[1] = 2;
  s.a[2] = 0x11;
  s.a[3] = 0x22;
  log().slot(s);
  trace::Slot alloc = slot(Kind::kAlloc, 1, 5);
  alloc.stack = 0xfffffff0;
  alloc.a[0] = kA;
  alloc.a[1] = 64;
  alloc.a[2] = 1;
  log().slot(alloc);
  alloc.a[0] = kB;
  alloc.stack = 4000; // never defined
  log().slot(alloc);
  run();
  ASSERT_EQ(kinds(), "leak leak");
  EXPECT_EQ(address_of(result.findings[0].stacks[0]), 0x11u);
  EXPECT_FALSE(result.findings[1].stacks[0].stack);
}

TEST_F(Logs, LossesByCause) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  log().header.lost[1] = 3;
  log(1).header.lost[2] = 4;
  log(1).record(Kind::kLoss, {}, {4, 5, 0, 0});
  run();
  EXPECT_EQ(result.process.lost.at("disk full, or file size limit"), 3u);
  EXPECT_EQ(result.process.lost.at("size limit of the trace (--max-trace)"), 4u);
  EXPECT_EQ(result.process.lost.at("no log could be made for a thread"), 5u);
  EXPECT_TRUE(is_not_checked("leak", "12 records were lost"));
  EXPECT_TRUE(is_not_checked("memory findings", "12 records were lost"));
}

TEST_F(Logs, DamagedHeadersCostOneLog) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  log(1).alloc({.api = "cuMemAlloc_v2"}, MemoryKind::kDevice, kB, 10);
  log(2).alloc({.api = "cuMemAlloc_v2"}, MemoryKind::kDevice, kB, 10);
  log(1).header.magic[0] = 'X';
  log(2).header.major = 7;
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(
    is_not_checked("one thread's calls", "t1001-0.log could not be read: its header is damaged"));
  EXPECT_TRUE(
    is_not_checked("one thread's calls", "t1002-0.log could not be read: it has format 7." +
                                           std::to_string(trace::kFormatMinor)));
  fs::resize_file(log_path(), 100);
  result = analyze(directory.path() / "trace");
  EXPECT_TRUE(is_not_checked("one thread's calls", "shorter than its header"));
}

TEST_F(Logs, EveryTruncationIsReadUpToItsEnd) {
  for (std::uint64_t i = 0; i < 6; ++i) {
    cuda_malloc(kA + i * kMiB, kMiB, i);
    log().record(Kind::kCopy, {.api = "cuMemcpy2D_v2", .stack = {1, 2, 3, 4, 5, 6, 7}},
                 std::vector<std::uint64_t>(17, 1));
  }
  run();
  const std::uint64_t all = result.process.totals.events;
  std::uint64_t last = all;
  for (std::uintmax_t size = fs::file_size(log_path()); size-- > 0;) {
    fs::resize_file(log_path(), size);
    result = analyze(directory.path() / "trace");
    EXPECT_LE(result.process.totals.events, last);
    last = result.process.totals.events;
    if (size > trace::kLogHeaderBytes + 4096) size -= 13;
    size -= std::min<std::uintmax_t>(size, test::one_in(6) - 1);
  }
  EXPECT_EQ(all, 12u);
  EXPECT_EQ(last, 0u);
}

TEST_F(Logs, SmallInversionsAreSorted) {
  // Allocations take their order after the call: what a signal handler did inside it comes later in
  // the file.
  std::uint64_t order = 1;
  for (std::uint64_t round = 0; round < 500; ++round) {
    for (std::uint64_t i = 8; i > 0; --i) {
      log().alloc({.api = "cuMemAlloc_v2", .order = order + i}, MemoryKind::kDevice, kA + i * kMiB,
                  64);
    }
    order += 8;
    for (std::uint64_t i = 1; i <= 8; ++i) {
      log().release({.api = "cuMemFree_v2", .order = order + i}, FreeFunction::kMemFree,
                    kA + i * kMiB);
    }
    order += 8;
  }
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
  EXPECT_EQ(result.process.totals.events, 8000u);
  EventStream stream(open_trace(directory.path() / "trace").value());
  std::uint64_t previous = 0;
  while (const Event* e = stream.next()) {
    if (e->kind == EventKind::kExit) continue;
    EXPECT_LT(previous, e->order);
    previous = e->order;
  }
}

TEST_F(Logs, ManyLogsMergeByOrder) {
  constexpr std::size_t kWords = trace::kFirstPayloadWords + trace::kMorePayloadWords;
  std::mt19937 random(3);
  std::vector<std::size_t> owner;
  for (std::uint64_t order = 1; order <= 20'000; ++order) {
    const std::size_t number = random() % 100 < 50 ? 0 : random() % 64;
    log(number).record(Kind::kNote,
                       {.api = "cuMemPoolTrimTo", .stack = {random() % 50}, .order = order},
                       std::vector<std::uint64_t>(random() % 3 == 0 ? kWords : 4, order));
  }
  run();
  EventStream stream(open_trace(directory.path() / "trace").value());
  std::uint64_t expected = 0;
  while (const Event* e = stream.next()) {
    if (e->kind == EventKind::kExit) continue;
    ASSERT_EQ(e->order, ++expected);
    ASSERT_EQ(e->note().fourth, expected);
    const std::span<const std::uint64_t> words = stream.words();
    ASSERT_TRUE(words.size() == trace::kFirstPayloadWords || words.size() == kWords);
    ASSERT_EQ(words.back(), expected);
  }
  EXPECT_EQ(expected, 20'000u);
}

// A live process writes on where the file holds zeros, and behind them.
TEST_F(Logs, ReadingGoesOnWhereALogHasGrown) {
  const auto note = [this](std::size_t number, std::uint64_t order) {
    log(number).record(Kind::kNote, {.api = "cuMemPoolTrimTo", .stack = {order}, .order = order},
                       std::vector<std::uint64_t>(trace::kFirstPayloadWords + 1, order));
  };
  for (const bool many_logs : {false, true}) { // of which none stays open
    trace = TraceWriter();
    for (std::size_t number = 0; number < (many_logs ? 450 : 2); ++number) note(number, number + 1);
    trace.write(directory.path() / "trace");
    EventStream stream(open_trace(directory.path() / "trace").value());
    std::uint64_t order = 0;
    const auto read_all = [&] {
      while (const Event* e = stream.next()) {
        if (e->kind == EventKind::kExit) continue;
        EXPECT_EQ(e->order, ++order);
        EXPECT_EQ(stream.stacks().frames(e->stack).front(), order);
      }
      return order;
    };
    const std::uint64_t first = read_all();
    EXPECT_EQ(stream.next(), nullptr);
    stream.read_on();
    EXPECT_EQ(read_all(), first);
    for (std::size_t i = 1; i <= 1000; ++i) note(i % 2, first + i); // more than the zeros
    trace.write(directory.path() / "trace");
    EXPECT_EQ(stream.next(), nullptr); // until it is asked to
    stream.read_on();
    EXPECT_EQ(read_all(), first + 1000);
    EXPECT_EQ(stream.stats().total.torn, 0u);
    EXPECT_EQ(stream.stats().total.damaged, 0u);
  }
}

TEST_F(Logs, ReadingGoesOnBehindAHole) {
  cuda_malloc(kA, kMiB);
  trace.zero_slots = 0;
  trace.write(directory.path() / "trace");
  const auto size = fs::file_size(log_path());
  fs::resize_file(log_path(), size + (1 << 20)); // nothing but a hole
  EventStream stream(open_trace(directory.path() / "trace").value());
  while (stream.next() != nullptr) {
  }
  cuda_free(kA);
  trace.write(directory.path() / "grown");
  const std::string content = read_file(directory.path() / "grown" / log_path().filename());
  const int fd = ::open(log_path().c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::pwrite(fd, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  ::close(fd);
  stream.read_on();
  const Event* e = stream.next();
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->kind, EventKind::kFree);
  EXPECT_EQ(stream.next(), nullptr);
  EXPECT_EQ(stream.stats().total.torn, 0u);
}

// Kinds of device logs and of later minors: detectors are called by a table of the kinds before
// them.
TEST_F(Logs, KindsOfOtherFilesAreNoEvents) {
  const std::uint64_t order = trace.next_order();
  log().slot(slot(Kind::kDeviceAlloc, 1, order));
  log().slot(slot(Kind::kAccessCounters, 1, order + 1));
  log().slot(slot(static_cast<Kind>(254), 1, order + 2));
  log().slot(slot(static_cast<Kind>(255), 1, order + 3));
  run();
  EXPECT_EQ(result.process.totals.events, 0u);
  EXPECT_TRUE(is_not_checked("calls of a newer format", "4 records"));
}

TEST_F(Logs, KindBehindTheLastEventIsNone) {
  const auto behind = static_cast<Kind>(static_cast<int>(trace::kLastEventKind) + 1);
  ASSERT_EQ(behind, Kind::kPythonCode); // without an id it is damaged
  log().slot(slot(behind, 1, trace.next_order()));
  run();
  EXPECT_EQ(result.process.totals.events, 0u);
  EXPECT_EQ(result.process.damaged, 1u);
}

TEST_F(Logs, MoreThreadsThanDescriptors) {
  for (std::size_t i = 0; i < 1'500; ++i) {
    log(i).alloc({.api = "cuMemAlloc_v2"}, MemoryKind::kDevice, kA + i * 1024, 512);
    log(i).release({.api = "cuMemFree_v2"}, FreeFunction::kMemFree, kA + i * 1024);
  }
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.events, 3'000u);
}

TEST_F(Logs, HolesAreJumpedOver) {
  cuda_malloc(kA, kMiB);
  cuda_free(kA);
  run();
  const int fd = ::open(log_path().c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  const off_t far = off_t{1} << 40; // a terabyte of nothing
  const trace::Slot s = slot(Kind::kNote, 1, 9);
  ASSERT_EQ(::pwrite(fd, &s, sizeof s, far), static_cast<ssize_t>(sizeof s));
  ASSERT_EQ(::ftruncate(fd, 2 * far), 0);
  ::close(fd);
  result = analyze(directory.path() / "trace");
  EXPECT_EQ(result.process.totals.events, 3u);
  EXPECT_GT(result.process.torn, 1u << 30);
}

TEST_F(Logs, ContinuedOrdersAndGiantOnes) {
  log(0).alloc({.api = "cuMemAlloc_v2", .order = UINT64_MAX}, MemoryKind::kDevice, kA, 64);
  log(1).alloc({.api = "cuMemAlloc_v2", .order = UINT64_MAX}, MemoryKind::kDevice, kB, 64);
  log(1).alloc({.api = "cuMemAlloc_v2", .order = 1}, MemoryKind::kDevice, kC, 64);
  run();
  EXPECT_EQ(result.process.totals.events, 3u);
}

} // namespace
} // namespace gmt::test
