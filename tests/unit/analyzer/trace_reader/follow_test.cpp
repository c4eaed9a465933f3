// SPDX-License-Identifier: Apache-2.0
// A trace that is read while its process writes on: calls that have not returned, new logs, and
// threads whose records come in another order than they are read in.

#include <vector>

#include "analyzer/trace_reader/event_stream.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Follow : public AnalysisTest {
protected:
  void note(std::size_t log_number, std::uint64_t order, std::uint16_t answer = 0) {
    log(log_number)
      .record(Kind::kNote, {.api = "cuMemPoolTrimTo", .result = answer, .order = order},
              std::vector<std::uint64_t>(trace::kFirstPayloadWords, order));
  }
  void write() { trace.write(directory.path() / "trace"); }
  EventStream opened() {
    trace.complete.clear(); // or the writer adds an exit
    write();
    return EventStream(open_trace(directory.path() / "trace").value());
  }
  // What a reader takes in one look: orders, and which of them were in flight.
  static std::vector<std::uint64_t> look(EventStream& stream) {
    std::vector<std::uint64_t> orders;
    do {
      stream.read_on();
      while (const Event* e = stream.next()) {
        if (!is_call(e->kind)) continue;
        EXPECT_FALSE(e->in_flight());
        orders.push_back(e->order);
      }
    } while (stream.has_newer());
    return orders;
  }
  using Orders = std::vector<std::uint64_t>;
};

TEST_F(Follow, ACallThatHasNotReturnedWaits) {
  note(0, 1);
  note(0, 2, trace::kResultInFlight);
  EventStream stream = opened();
  stream.follow(true);
  EXPECT_EQ(look(stream), (Orders{1}));
  EXPECT_EQ(look(stream), Orders{});
  trace = TraceWriter();
  note(0, 1);
  note(0, 2);
  note(0, 3);
  trace.complete.clear();
  write();
  EXPECT_EQ(look(stream), (Orders{2, 3}));
  EXPECT_EQ(stream.stats().total.damaged, 0u);
  EXPECT_EQ(stream.stats().total.torn, 0u);
}

TEST_F(Follow, OtherThreadsGoOnMeanwhile) {
  note(0, 1, trace::kResultInFlight);
  note(1, 2);
  note(1, 3);
  EventStream stream = opened();
  stream.follow(true);
  EXPECT_EQ(look(stream), (Orders{2, 3}));
  stream.follow(false); // the process has died in its call
  stream.read_on();
  const Event* e = stream.next();
  while (e != nullptr && !is_call(e->kind)) e = stream.next();
  ASSERT_NE(e, nullptr);
  EXPECT_TRUE(e->in_flight());
  EXPECT_EQ(e->order, 1u);
}

TEST_F(Follow, NewLogsAreFound) {
  note(0, 1);
  EventStream stream = opened();
  stream.follow(true);
  EXPECT_EQ(look(stream), (Orders{1}));
  note(1, 2);
  note(0, 3);
  write();
  EXPECT_EQ(look(stream), (Orders{2, 3}));
  EXPECT_EQ(stream.trace().logs.size(), 2u);
  EXPECT_EQ(look(stream), Orders{});
}

TEST_F(Follow, EveryRecordComesOnceWhateverTheSteps) {
  constexpr std::uint64_t kRecords = 3000;
  note(0, 1);
  note(1, 2);
  EventStream stream = opened();
  stream.follow(true);
  Orders all = look(stream);
  for (std::uint64_t order = 3; order <= kRecords; ++order) {
    note(order % 3 == 0 ? 0 : 1, order);
    if (order % 271 != 0) continue;
    write();
    const Orders more = look(stream);
    all.insert(all.end(), more.begin(), more.end());
  }
  write();
  const Orders rest = look(stream);
  all.insert(all.end(), rest.begin(), rest.end());
  ASSERT_EQ(all.size(), kRecords);
  for (std::uint64_t i = 0; i < kRecords; ++i) ASSERT_EQ(all[i], i + 1);
}

} // namespace
} // namespace gmt::test
