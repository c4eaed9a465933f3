// SPDX-License-Identifier: Apache-2.0
// Slots become whole records, and what is torn or damaged counts the same for logs of every sort.

#include "analyzer/trace_reader/slot_file.h"

#include <cstring>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/trace_reader/access_log.h"
#include "analyzer/trace_reader/device_log.h"
#include "analyzer/trace_reader/log_reader.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {
namespace {

using trace::Kind;

constexpr Kind kUnknownKind = static_cast<Kind>(99);

trace::Slot slot(Kind kind, std::uint8_t slots = 1) {
  trace::Slot s{};
  s.head = trace::pack({kind, slots, 0, 0, 0});
  return s;
}

const trace::Slot kZero{};
const trace::Slot kMore = slot(Kind::kMore);

struct Outcome {
  std::string records; // the number of slots of each
  std::uint64_t torn, damaged;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& o, std::ostream* out) {
  *out << "records " << o.records << ", torn " << o.torn << ", damaged " << o.damaged;
}

Outcome scan(std::vector<trace::Slot> slots, ZeroHeads zero_heads = ZeroHeads::kTorn) {
  LogStats stats;
  SlotFile file(std::move(slots), stats, zero_heads);
  std::string records;
  for (SlotRecord record; file.read(record);) records += std::to_string(record.head.slots);
  return {records, stats.torn, stats.damaged};
}

TEST(SlotFile, WholeRecords) {
  EXPECT_EQ(scan({}), (Outcome{"", 0, 0}));
  EXPECT_EQ(scan({slot(Kind::kAlloc), slot(Kind::kCopy, 3), kMore, kMore, slot(kUnknownKind), kZero,
                  kZero}),
            (Outcome{"131", 0, 0}));
}

TEST(SlotFile, AZeroHeadIsTornOnceAnotherSlotFollows) {
  EXPECT_EQ(scan({kZero, kMore, kMore, slot(Kind::kAlloc), kZero, kZero, slot(Kind::kFree)}),
            (Outcome{"11", 3, 0}));
}

TEST(SlotFile, WhereZerosAreHolesContinuationsBehindThemAreDamage) {
  EXPECT_EQ(
    scan({slot(Kind::kAlloc), kZero, kZero, kMore, kMore, slot(Kind::kFree)}, ZeroHeads::kHoles),
    (Outcome{"11", 0, 1}));
}

TEST(SlotFile, ARowOfContinuationsIsOneDamage) {
  EXPECT_EQ(scan({kMore, kMore, slot(Kind::kAlloc), kMore, slot(Kind::kFree)}),
            (Outcome{"11", 0, 2}));
}

TEST(SlotFile, ARecordThatIsNotWholeIsOneDamage) {
  EXPECT_EQ(scan({slot(Kind::kCopy, 3), kMore, slot(Kind::kAlloc)}), (Outcome{"1", 0, 1}));
  EXPECT_EQ(scan({slot(Kind::kCopy, 0), kMore, slot(Kind::kAlloc)}), (Outcome{"1", 0, 1}));
  EXPECT_EQ(scan({slot(Kind::kAlloc), slot(Kind::kCopy, 3), kMore}), (Outcome{"1", 0, 1}));
}

TEST(SlotFile, SlotsThatWereGivenUpMayBeUnwritten) {
  EXPECT_EQ(scan({slot(Kind::kAbandoned, 3), kZero, kMore, slot(Kind::kAlloc)}),
            (Outcome{"1", 0, 0}));
  EXPECT_EQ(scan({slot(Kind::kAbandoned, 3), slot(Kind::kAlloc)}), (Outcome{"1", 0, 0}));
}

// One damaged file, read as the log of a thread, of a ring and of a context's accesses.
class EveryLog : public testing::Test {
protected:
  void write(const std::vector<trace::Slot>& slots, const char* tail = "") const {
    trace::LogHeader header{};
    std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
    header.major = trace::kFormatMajor;
    std::string bytes(trace::kLogHeaderBytes, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.append(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(trace::Slot));
    write_file(path(), bytes + tail);
  }
  std::filesystem::path path() const { return directory.path() / "any.log"; }

  LogStats as_thread() const {
    StackTable stacks;
    LogReader log(path(), 0, stacks, true);
    while (log.make_ready()) log.take(log.ready().size());
    return log.stats();
  }
  LogStats as_ring() const {
    DeviceLogReader log({.name = "device-0", .log = path(), .ring = {}});
    while (log.next() != nullptr) {
    }
    return log.stats();
  }
  LogStats as_accesses() const { return read_access_log(path()).stats; }

  TemporaryDirectory directory;
};

TEST_F(EveryLog, CountsTheSameDamage) {
  std::vector<trace::Slot> slots = {
    kMore, kMore, slot(kUnknownKind, 0), kMore, slot(kUnknownKind, 4), kMore};
  for (unsigned i = 0; i < 3000; ++i)
    slots.push_back(slot(kUnknownKind)); // more than is read at once
  slots.push_back(slot(Kind::kAbandoned, 2));
  slots.push_back(slot(kUnknownKind, 2));
  write(slots, "a slot cut short");
  for (const LogStats& stats : {as_thread(), as_ring(), as_accesses()}) {
    EXPECT_EQ(stats.damaged, 5u);
    EXPECT_EQ(stats.unknown_kinds, 3000u);
    EXPECT_EQ(stats.torn, 0u);
  }
}

TEST_F(EveryLog, SaysWhyItWasNotRead) {
  write_file(path(), "short");
  for (const LogStats& stats : {as_thread(), as_ring(), as_accesses()}) {
    EXPECT_EQ(stats.skipped, "it is shorter than its header");
  }
  std::filesystem::remove(path());
  for (const LogStats& stats : {as_thread(), as_ring(), as_accesses()}) {
    EXPECT_EQ(stats.skipped, "No such file or directory");
  }
}

} // namespace
} // namespace gmt::test
