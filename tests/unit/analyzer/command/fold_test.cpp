// SPDX-License-Identifier: Apache-2.0
// Folding a packed log: where notes stand, and launches whose arguments a dropped one had.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "analyzer/command/fold/fold_plan.h"
#include "analyzer/command/fold/log_folder.h"
#include "analyzer/command/run/trace_packer.h"
#include "analyzer/trace_reader/folded_calls.h"
#include "analyzer/trace_reader/packed_log.h"
#include "trace/packed_words.h"
#include "trace/records.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;
using Part = FoldPlan::Part;
using trace::Kind;
using trace::LaunchWord;

constexpr std::uint16_t kUnrecorded = 77;

std::string parts_of(const FoldPlan& plan, std::uint64_t first, std::uint64_t last) {
  std::string text;
  for (std::uint64_t order = first; order <= last; ++order)
    text += "-wrt.N"[static_cast<std::size_t>(plan.of(order))];
  return text;
}

TEST(FoldPlan, ANoteStandsBetweenUsesThatMayBeHeldAgainstEachOther) {
  FoldPlan plan;
  plan.set(5, Part::kDropped); // before it begins
  plan.begin(10, 100);
  const std::string parts = ".w..w-..r.t..wt.t...";
  for (std::size_t i = 0; i < parts.size(); ++i)
    plan.set(10 + i, static_cast<Part>(std::string("-wrt.N").find(parts[i])));
  plan.set_notes();
  //                                  the tensor at 10 has no use before it, that at 16 has
  EXPECT_EQ(parts_of(plan, 10, 29), "Nw.Nw-.Nr.t.NwtNt...");
  EXPECT_EQ(plan.of(5), Part::kNone);
  EXPECT_EQ(plan.of(1000), Part::kNone);
}

TEST(FoldPlan, ATensorMayBeHeldAgainstAUseBeforeTheFiles) {
  FoldPlan plan;
  plan.begin(10, 100);
  plan.set(10, Part::kDropped);
  plan.set(11, Part::kTensor);
  plan.set(12, Part::kDropped);
  plan.set(13, Part::kTensor);
  plan.set_notes();
  EXPECT_EQ(parts_of(plan, 10, 13), "Nt.t");
}

// A run may be killed when one of them was written anew and the other was not.
TEST(FoldPlan, EachFileHasItsOwnNotes) {
  FoldPlan plan;
  plan.begin(10, 100);
  plan.set(10, Part::kWork);
  plan.set(11, Part::kDropped, 7);
  plan.set(12, Part::kDropped, 7);
  plan.set(13, Part::kDropped, FoldPlan::kMostFiles - 1);
  plan.set(14, Part::kWork);
  plan.set(15, Part::kDropped, 7);
  plan.set(16, Part::kRelease);
  plan.set_notes();
  EXPECT_EQ(parts_of(plan, 10, 16), "w.NNwNr");
}

TEST(FoldPlan, HasTheEndOfAStretchThatIsTooLong) {
  FoldPlan plan;
  const std::uint64_t last = 1000 + FoldPlan::kMostOrders;
  plan.begin(10, last);
  for (const std::uint64_t order :
       {std::uint64_t{10}, std::uint64_t{1000}, std::uint64_t{1001}, last})
    plan.set(order, Part::kDropped);
  EXPECT_EQ(parts_of(plan, 10, 10) + parts_of(plan, 1000, 1001) + parts_of(plan, last, last),
            "--..");
}

// A thread that makes few calls leaves its file late.
TEST(FoldPlan, TakesTheOldestRecordsFirst) {
  std::vector<PackedFile> packed;
  add_packed(packed, {"a", 10, 30, 40});
  add_packed(packed, {"slow", 10, 1, 25});
  add_packed(packed, {"b", 10, 41, 50});
  add_packed(packed, {"c", 10, 26, 29});
  std::string names;
  for (const PackedFile& file : packed) names += file.log.string() + " ";
  EXPECT_EQ(names, "slow c a b ");
}

TEST(FoldPlan, TakesSoManyFilesThatItHasTheirOrders) {
  constexpr std::uint64_t kMost = FoldPlan::kMostOrders;
  const std::vector<PackedFile> packed = {{"slow", 10, 1, kMost + 9},
                                          {"a", 10, 10, 20},
                                          {"b", 10, 21, kMost + 9},
                                          {"c", 10, 30, kMost + 10}};
  EXPECT_EQ(folded_at_once(packed, 1000).size(), 1U);
  EXPECT_EQ(folded_at_once({packed.begin() + 1, packed.end()}, 1000).size(), 2U);
  EXPECT_EQ(folded_at_once({packed.begin() + 1, packed.end()}, 10).size(), 1U);
}

class LogFolding : public testing::Test {
protected:
  LogFolding() { fs::create_directories(folder); }
  ~LogFolding() override { fs::remove_all(folder); }

  trace::Slot& add(Kind kind, std::uint64_t order, std::uint16_t flags = 0,
                   std::uint8_t slots = 1) {
    trace::Slot slot{};
    slot.head = trace::pack({kind, slots, 3, flags, 0});
    slot.order = order | std::uint64_t{5} << 48;
    slot.time = 100 * order;
    slots_.push_back(slot);
    return slots_.back();
  }
  void add_more(std::uint64_t first_word) {
    trace::MoreSlot more{trace::pack({Kind::kMore, 1, trace::kNoApi, 0, 0}), {first_word}};
    std::memcpy(static_cast<void*>(&slots_.emplace_back()), &more, sizeof more);
  }
  void add_launch(std::uint64_t order, std::uint16_t flags, unsigned number) {
    trace::Slot& launch =
      add(Kind::kLaunch, order, flags, (flags & trace::kLaunchKeepsArguments) != 0 ? 2 : 1);
    launch.a[LaunchWord::block] = trace::with_arguments_number(0, number);
    if ((flags & trace::kLaunchKeepsArguments) != 0) add_more(0x7000 + order);
  }
  // What the log has when it was folded.
  std::vector<trace::Slot> folded(const FoldPlan& plan) {
    const fs::path log = folder / "t1-0.0.log";
    std::vector<char> header(trace::kLogHeaderBytes, 'h');
    std::ofstream out(log, std::ios::binary);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(reinterpret_cast<const char*>(slots_.data()),
              static_cast<std::streamsize>(slots_.size() * sizeof(trace::Slot)));
    out.close();
    LogPacker packer(log);
    while (packer.step()) {
    }
    const fs::path packed = log.string() + kPackedEnd;
    LogFolder folder_of_log(packed, plan, kUnrecorded);
    while (folder_of_log.step()) {
    }
    EXPECT_EQ(folder_of_log.problem(), "");
    EXPECT_EQ(fs::file_size(packed), folder_of_log.bytes());
    trace::Slot slot;
    EXPECT_EQ(PackedLog::open(packed, true)->read(&slot, sizeof slot, trace::kLogHeaderBytes), 0U)
      << "it has the mark";
    std::vector<trace::Slot> all(slots_.size());
    all.resize(PackedLog::open(packed)->read(all.data(), all.size() * sizeof(trace::Slot),
                                             trace::kLogHeaderBytes) /
               sizeof(trace::Slot));
    return all;
  }

  const fs::path folder = fs::temp_directory_path() / ("fold_test." + std::to_string(::getpid()));
  std::vector<trace::Slot> slots_;
};

TEST_F(LogFolding, ALaunchGetsTheArgumentsThatADroppedOneHad) {
  constexpr std::uint16_t kKeeps = trace::kLaunchKeepsArguments | trace::kLaunchScanned;
  add_launch(10, kKeeps, 5);
  add_launch(11, trace::kLaunchRepeatsArguments, 5);
  slots_.emplace_back(); // torn
  add_launch(12, trace::kLaunchRepeatsArguments, 5);
  add_launch(13, trace::kLaunchRepeatsArguments, 5);
  add_launch(14, kKeeps, 6);
  FoldPlan plan;
  plan.begin(10, 100);
  plan.set(10, Part::kDropped);
  plan.set(11, Part::kNote);
  const std::vector<trace::Slot> all = folded(plan);
  ASSERT_EQ(all.size(), 1U + 1 + 2 + 1 + 2);
  EXPECT_EQ(trace::unpack(all[0].head).kind, Kind::kNote);
  EXPECT_EQ(trace::unpack(all[0].head).api, kUnrecorded);
  EXPECT_EQ(all[0].order, 11U);
  EXPECT_EQ(all[1].head, 0U);
  const trace::Head first = trace::unpack(all[2].head);
  EXPECT_EQ(first.slots, 2);
  EXPECT_EQ(first.flags, kKeeps);
  EXPECT_EQ(trace::arguments_number_of(all[2].a[LaunchWord::block]), 5U);
  trace::MoreSlot more;
  std::memcpy(&more, &all[3], sizeof more);
  EXPECT_EQ(more.payload[0], 0x7000U + 10);
  EXPECT_EQ(trace::unpack(all[4].head).flags, trace::kLaunchRepeatsArguments);
  EXPECT_EQ(all[5].order & 0xffff, 14U);
}

TEST_F(LogFolding, ANoteHasTheSumsOfWhatWasDropped) {
  const auto count = static_cast<std::uint64_t>(PackedLog::kSlots) + 100;
  FoldPlan plan;
  plan.begin(1, 2 * count);
  for (std::uint64_t order = 1; order <= count; ++order) {
    add(order % 2 == 0 ? Kind::kFree : Kind::kAlloc, order).a[trace::AllocWord::bytes] = 10;
    plan.set(order, Part::kDropped);
  }
  add(Kind::kCopy, count + 1);
  plan.set(count + 1, Part::kNote);
  add(Kind::kCopy, count + 2);
  const std::vector<trace::Slot> all = folded(plan);
  ASSERT_EQ(all.size(), 2U);
  const FoldedCalls calls = FoldedCalls::of(all[0].a[0], all[0].a[1], all[0].a[2], all[0].a[3]);
  EXPECT_EQ(calls.records, count + 1);
  EXPECT_EQ(calls.allocations, count / 2);
  EXPECT_EQ(calls.allocated_bytes, count / 2 * 10);
  EXPECT_EQ(calls.copies, 1U);
  EXPECT_EQ(calls.launches, 0U);
  EXPECT_TRUE(calls.is_folded);
  EXPECT_EQ(all[1].order & 0xffffff, count + 2);
}

// Its own part of the plan has no note behind them.
TEST_F(LogFolding, WhatIsDroppedLastHasANoteToo) {
  add(Kind::kCopy, 12);
  add(Kind::kCopy, 11); // orders are not quite in order
  add(Kind::kCopy, 13);
  FoldPlan plan;
  plan.begin(10, 100);
  plan.set(11, Part::kDropped);
  plan.set(12, Part::kNote);
  const std::vector<trace::Slot> all = folded(plan);
  ASSERT_EQ(all.size(), 3U);
  std::uint64_t records = 0;
  for (const trace::Slot& slot : all)
    if (trace::unpack(slot.head).kind == Kind::kNote) records += slot.a[0];
  EXPECT_EQ(records, 2U);
}

} // namespace
} // namespace gmt
