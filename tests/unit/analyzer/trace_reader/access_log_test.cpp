// SPDX-License-Identifier: Apache-2.0
// The reader of access logs: what it takes over, and what it makes of damage.

#include <gtest/gtest.h>

#include "analyzer/trace_reader/access_log.h"
#include "tests/unit/analyzer/support/access_log_writer.h"

namespace gmt::test {
namespace {

class AccessLogTest : public testing::Test {
protected:
  AccessLog read() {
    writer.write(directory.path());
    return read_access_log(directory.path() / "access-0.log");
  }
  TemporaryDirectory directory;
  AccessLogWriter writer;
};

TEST_F(AccessLogTest, EveryFigureHasItsColumn) {
  writer.windows({.trouble = trace::AccessTrouble::kBusy,
                  .code = 27,
                  .opened = 5,
                  .read = 3,
                  .given_up = 2,
                  .launches = 100,
                  .launches_read = 30,
                  .launches_given_up = 20,
                  .open_nanoseconds = 7,
                  .graph_launches = 8,
                  .put_off = 9,
                  .unknown_graphs = 4,
                  .graphs_in_windows = 1});
  writer.function("_Z4stepPf", 16353, 12, 0x1234, 4);
  writer.instruction(0x120, {.executions = 1,
                             .threads = 32,
                             .sectors = 4,
                             .ideal = 5,
                             .bytes = 128,
                             .wavefronts = 6,
                             .ideal_wavefronts = 7,
                             .shared_bytes = 8,
                             .local_sectors = 9});
  const AccessLog log = read();
  EXPECT_EQ(log.name, "access-0");
  ASSERT_TRUE(log.has_windows);
  EXPECT_EQ(log.windows.trouble, trace::AccessTrouble::kBusy);
  EXPECT_EQ(log.windows.code, 27u);
  EXPECT_EQ(log.windows.given_up, 2u);
  EXPECT_EQ(log.windows.launches_read, 30u);
  EXPECT_EQ(log.windows.launches_given_up, 20u);
  EXPECT_EQ(log.windows.open_nanoseconds, 7u);
  EXPECT_EQ(log.windows.graph_launches, 8u);
  EXPECT_EQ(log.windows.unknown_graphs, 4u);
  EXPECT_EQ(log.windows.graphs_in_windows, 1u);
  EXPECT_EQ(log.windows.put_off, 9u);
  ASSERT_EQ(log.functions.size(), 1u);
  const AccessFunction& function = log.functions[0];
  EXPECT_EQ(function.name, "_Z4stepPf");
  EXPECT_EQ(function.identity, 0x1234u);
  EXPECT_EQ(function.launches, 16353u);
  EXPECT_EQ(function.measured, 12u);
  EXPECT_EQ(function.lost, 4u);
  ASSERT_EQ(function.instructions.size(), 1u);
  EXPECT_EQ(function.instructions[0].offset, 0x120u);
  EXPECT_EQ(function.instructions[0].counts, (AccessCounts{1, 32, 4, 5, 128, 6, 7, 8, 9}));
  EXPECT_EQ(log.stats.records, 4u); // the name is one of them
  EXPECT_EQ(log.stats.damaged, 0u);
}

TEST_F(AccessLogTest, InstructionsFindTheirFunctionWhereverTheyStand) {
  writer.windows({});
  const std::uint64_t first = writer.function("a");
  writer.function("b");
  writer.instruction(0x10, {.executions = 2});
  writer.instruction(first, 0x20, {.executions = 1});
  const AccessLog log = read();
  ASSERT_EQ(log.functions.size(), 2u);
  EXPECT_EQ(log.functions[0].instructions.at(0).offset, 0x20u);
  EXPECT_EQ(log.functions[1].instructions.at(0).offset, 0x10u);
}

TEST_F(AccessLogTest, MoreRecordsThanAreReadAtOnce) {
  writer.windows({});
  writer.function("a");
  for (std::uint32_t i = 0; i < 5000; ++i) writer.instruction(i * 16, {.executions = i});
  const AccessLog log = read();
  ASSERT_EQ(log.functions.at(0).instructions.size(), 5000u);
  EXPECT_EQ(log.functions[0].instructions[4999].counts.executions, 4999u);
  EXPECT_EQ(log.stats.damaged, 0u);
  EXPECT_EQ(log.stats.torn, 0u); // the tail is none
}

TEST_F(AccessLogTest, DamageIsCountedAndLeftOut) {
  writer.instruction(7, 0, {});                              // of no function
  writer.record(trace::Kind::kAccessFunction, {0, 0, 0, 0}); // number 0
  writer.function("a");
  writer.record(trace::Kind::kAccessFunction, {1, 1, 0, 0}); // the same number
  writer.record(trace::Kind::kAccessWindows, {99});          // no such trouble
  writer.record(trace::Kind::kText, {5, 1000, 0});           // longer than its record
  writer.record(trace::Kind::kMore, {1});                    // of no record
  writer.torn();
  writer.record(static_cast<trace::Kind>(99), {1}); // of a later minor
  const AccessLog log = read();
  EXPECT_EQ(log.functions.size(), 1u);
  EXPECT_FALSE(log.has_windows);
  EXPECT_EQ(log.stats.damaged, 6u);
  EXPECT_EQ(log.stats.unknown_kinds, 1u);
  EXPECT_EQ(log.stats.torn, 1u);
}

TEST_F(AccessLogTest, AFileCutShortGivesWhatIsWhole) {
  writer.windows({});
  writer.function("a");
  writer.instruction(0x10, {.executions = 2});
  writer.write(directory.path());
  const std::filesystem::path path = directory.path() / "access-0.log";
  const std::string whole = read_file(path);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 24) {
    write_file(path, whole.substr(0, bytes));
    const AccessLog log = read_access_log(path);
    EXPECT_LE(log.functions.size(), 1u);
    EXPECT_EQ(log.stats.skipped.empty(), bytes >= trace::kLogHeaderBytes);
  }
  EXPECT_FALSE(read_access_log(directory.path() / "none.log").stats.skipped.empty());
}

} // namespace
} // namespace gmt::test
