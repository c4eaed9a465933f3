// SPDX-License-Identifier: Apache-2.0
// A packed log gives back the bytes of the log, is found by its name, and may be damaged anywhere.

#include "analyzer/trace_reader/packed_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>

#include "analyzer/trace_reader/slot_file.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

class PackedLogs : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  // A program that does the same again and again, with records of several slots and a torn one.
  static std::vector<trace::Slot> slots(std::size_t count) {
    std::mt19937_64 random(7);
    std::vector<trace::Slot> all(count);
    std::uint64_t time = 1'000'000;
    for (std::size_t i = 0; i < count; ++i) {
      trace::Slot& slot = all[i];
      if (i % 50 == 49) continue; // torn
      if (i % 50 == 8) {
        slot.head = trace::pack({trace::Kind::kMore, 1, trace::kNoApi, 0, 0});
        slot.order = random();
        continue;
      }
      const auto words = static_cast<std::uint8_t>(i % 50 == 7 ? 2 : 1);
      slot.head = trace::pack({trace::Kind::kSet, words, 3, 0, 0});
      slot.order = (i + 1) | (random() % 5 << 48);
      slot.time = time += 900 + random() % 200;
      slot.stack = static_cast<std::uint32_t>(i % 50);
      slot.a[0] = 0x7f0000000000 + i % 50 * 4096;
    }
    return all;
  }
  fs::path write(const std::vector<trace::Slot>& all) const {
    std::vector<char> page(trace::kLogHeaderBytes);
    trace::LogHeader header{};
    std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
    header.major = trace::kFormatMajor;
    header.minor = trace::kFormatMinor;
    header.lost[1] = 5;
    std::memcpy(page.data(), &header, sizeof header);
    const fs::path path = folder / "t7-0.0.log";
    std::ofstream out(path, std::ios::binary);
    out.write(page.data(), static_cast<std::streamsize>(page.size()));
    out.write(reinterpret_cast<const char*>(all.data()),
              static_cast<std::streamsize>(all.size() * sizeof(trace::Slot)));
    return path;
  }
  static std::string pack(const fs::path& log) {
    LogPacker packer(log);
    while (packer.step()) {
    }
    return packer.problem();
  }
  static auto open_files() {
    const fs::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  }
  struct Content {
    std::vector<std::uint64_t> heads, times;
    LogStats stats;
  };
  static Content read(const fs::path& log, bool keep_open = true) {
    Content content;
    SlotFile file(log, content.stats, ZeroHeads::kTorn, keep_open);
    for (SlotRecord record; file.read(record);) {
      content.heads.push_back(file[record.slot].head);
      content.times.push_back(file[record.slot].time);
    }
    return content;
  }

  const fs::path folder =
    fs::path(testing::TempDir()) / ("packed_logs." + std::to_string(::getpid()));
};

TEST_F(PackedLogs, ReadAsTheLogsThatTheyWere) {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, PackedLog::kSlots, 3 * PackedLog::kSlots + 77}) {
    const fs::path log = write(slots(count));
    const std::uintmax_t bytes = fs::file_size(log);
    const Content before = read(log);
    EXPECT_EQ(pack(log), "");
    EXPECT_FALSE(fs::exists(log));
    const fs::path packed = log.string() + kPackedEnd;
    if (count > PackedLog::kSlots) {
      EXPECT_LT(fs::file_size(packed), bytes / 10);
    }
    for (const bool keep_open : {true, false}) {
      const Content after = read(log, keep_open);
      EXPECT_EQ(after.heads, before.heads);
      EXPECT_EQ(after.times, before.times);
      EXPECT_EQ(after.stats.torn, before.stats.torn);
      EXPECT_EQ(after.stats.damaged, 0u);
      EXPECT_EQ(after.stats.lost[1], 5u);
    }
    EXPECT_EQ(name_of_log(packed), log);
    fs::remove(packed);
  }
}

TEST_F(PackedLogs, AReaderThatIsBehindGoesOnInThePackedLog) {
  const fs::path log = write(slots(2 * PackedLog::kSlots));
  const Content before = read(log);
  LogStats stats;
  SlotFile file(log, stats, ZeroHeads::kTorn, false);
  std::vector<std::uint64_t> times;
  SlotRecord record;
  while (times.size() < before.times.size() / 2 && file.read(record))
    times.push_back(file[record.slot].time);
  EXPECT_EQ(pack(log), "");
  while (file.read(record)) times.push_back(file[record.slot].time);
  EXPECT_EQ(times, before.times);
}

// Among hundreds of logs it is closed between two reads.
TEST_F(PackedLogs, AReaderThatIsBehindTakesNoFoldedLogForTheOneThatItBegan) {
  const fs::path log = write(slots(2 * PackedLog::kSlots));
  LogStats stats;
  SlotFile begun(log, stats, ZeroHeads::kTorn, false);
  SlotRecord record;
  EXPECT_TRUE(begun.read(record));
  EXPECT_EQ(pack(log), "");
  const fs::path packed = log.string() + kPackedEnd;
  std::fstream file(packed, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(trace::kLogHeaderBytes - sizeof kFoldedMark);
  file.write(kFoldedMark, sizeof kFoldedMark);
  file.close();
  std::size_t records = 1;
  while (begun.read(record)) ++records;
  EXPECT_LE(records, SlotFile::kBatch);
  EXPECT_EQ(stats.damaged, 1U);
  const Content whole = read(log, false);
  EXPECT_GT(whole.heads.size(), PackedLog::kSlots);
  EXPECT_EQ(whole.stats.damaged, 0U);
}

TEST_F(PackedLogs, WhatAKilledWriterLeftIsWrittenAnew) {
  const fs::path log = write(slots(PackedLog::kSlots));
  const Content before = read(log);
  const fs::path unfinished = log.string() + kPackedEnd + ".new";
  std::ofstream(unfinished) << std::string(10'000'000, 'x');
  EXPECT_EQ(pack(log), "");
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_EQ(read(log).heads, before.heads);
  EXPECT_EQ(read(log).stats.damaged, 0U);
  EXPECT_LT(fs::file_size(log.string() + kPackedEnd), 1'000'000U);
}

TEST_F(PackedLogs, ALinkIsNoFileOfAWriter) {
  const fs::path log = write(slots(PackedLog::kSlots));
  const fs::path other = folder / "other";
  std::ofstream(other) << "another's";
  fs::create_hard_link(other, log.string() + kPackedEnd + ".new");
  EXPECT_NE(pack(log), "");
  EXPECT_EQ(fs::file_size(other), 9U);
  EXPECT_TRUE(fs::exists(log));
}

TEST_F(PackedLogs, HaveNoDescriptorBehindTheirEnd) {
  const fs::path log = write(slots(2 * PackedLog::kSlots));
  const Content before = read(log);
  EXPECT_EQ(pack(log), "");
  const auto none = open_files();
  LogStats stats;
  SlotFile file(log, stats, ZeroHeads::kTorn);
  EXPECT_EQ(open_files(), none + 1);
  std::vector<std::uint64_t> times;
  SlotRecord record;
  while (file.read(record)) times.push_back(file[record.slot].time);
  EXPECT_EQ(open_files(), none);
  EXPECT_EQ(times, before.times);
  EXPECT_EQ(stats.damaged, 0u);
}

TEST_F(PackedLogs, FewHaveADescriptorBeforeTheirTurn) {
  constexpr int kMany = 300;
  const fs::path log = write(slots(2 * PackedLog::kSlots));
  EXPECT_EQ(pack(log), "");
  const auto none = open_files();
  std::deque<LogStats> stats(kMany);
  std::deque<SlotFile> files;
  for (LogStats& one : stats) files.emplace_back(log, one);
  EXPECT_EQ(open_files(), none + 256);
  for (SlotFile& file : files)
    for (SlotRecord record; file.read(record);) {
    }
  EXPECT_EQ(open_files(), none);
  EXPECT_EQ(stats.back().damaged, 0u);
}

// A folded log has the name of the log that it was.
TEST_F(PackedLogs, AReaderDoesNotMixTwoFilesOfOneName) {
  const auto pack_slots = [this](std::size_t count) {
    const fs::path log = write(slots(count));
    EXPECT_EQ(pack(log), "");
    return log;
  };
  const fs::path log = pack_slots(2 * PackedLog::kSlots);
  const Content before = read(log);
  LogStats stats;
  SlotFile file(log, stats, ZeroHeads::kTorn);
  const std::unique_ptr<PackedLog> closed = PackedLog::open(log.string() + kPackedEnd);
  closed->rest(true);
  pack_slots(3 * PackedLog::kSlots);
  std::vector<std::uint64_t> times;
  for (SlotRecord record; file.read(record);) times.push_back(file[record.slot].time);
  EXPECT_EQ(times, before.times);
  EXPECT_EQ(stats.damaged, 0u);
  trace::Slot slot;
  EXPECT_EQ(closed->read(&slot, sizeof slot, trace::kLogHeaderBytes), 0U);
  EXPECT_TRUE(closed->is_damaged());
}

TEST_F(PackedLogs, ALogThatCannotBeReadToItsEndStays) {
  const fs::path log = write(slots(PackedLog::kSlots));
  LogPacker packer(log);
  EXPECT_TRUE(packer.step());
  std::ofstream(log, std::ios::binary | std::ios::app) << "more";
  fs::resize_file(log, fs::file_size(log) + 60);
  const fs::path packed = log.string() + kPackedEnd;
  {
    LogPacker whole(log);
    EXPECT_NE(whole.problem(), ""); // the other one's file is there
  }
  EXPECT_TRUE(fs::exists(packed.string() + ".new"));
  fs::resize_file(log, fs::file_size(log) - 100);
  EXPECT_FALSE(packer.step());
  EXPECT_EQ(packer.problem(), "it could not be read to its end");
  EXPECT_TRUE(fs::exists(log));
  EXPECT_FALSE(fs::exists(packed));
}

TEST_F(PackedLogs, DamageEndsThem) {
  const fs::path log = write(slots(2 * PackedLog::kSlots));
  const Content before = read(log);
  EXPECT_EQ(pack(log), "");
  const fs::path packed = log.string() + kPackedEnd;
  const auto bytes = static_cast<std::streamoff>(fs::file_size(packed));
  std::mt19937_64 random(11);
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<std::streamoff>(
      trace::kLogHeaderBytes +
      random() % (static_cast<std::uint64_t>(bytes) - trace::kLogHeaderBytes));
    std::fstream file(packed, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int old = file.get();
    file.seekp(at);
    file.put(static_cast<char>(old ^ 0x41));
    file.flush();
    const Content after = read(log);
    EXPECT_LE(after.heads.size(), before.heads.size() + PackedLog::kSlots);
    file.seekp(at);
    file.put(static_cast<char>(old));
  }
  fs::resize_file(packed, static_cast<std::uintmax_t>(bytes - 8)); // between two frames
  EXPECT_EQ(read(log).heads, before.heads);
  EXPECT_EQ(read(log).stats.damaged, 1u);
  fs::resize_file(packed, static_cast<std::uintmax_t>(bytes - 10));
  const Content cut = read(log);
  EXPECT_GT(cut.heads.size(), 0u);
  EXPECT_LT(cut.heads.size(), before.heads.size());
  EXPECT_EQ(cut.stats.damaged, 1u);
}

TEST_F(PackedLogs, WhatCannotBePackedStays) {
  const fs::path log = folder / "t7-0.0.log";
  std::ofstream(log) << "short";
  EXPECT_EQ(pack(log), "it is shorter than its header");
  EXPECT_TRUE(fs::exists(log));
  EXPECT_FALSE(fs::exists(log.string() + kPackedEnd + ".new"));
  EXPECT_NE(pack(folder / "t7-0.1.log"), "");
}

} // namespace
} // namespace gmt
