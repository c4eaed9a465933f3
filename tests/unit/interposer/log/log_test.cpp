// SPDX-License-Identifier: Apache-2.0
// The interposer's log under many threads, in this process: the real Process, ThreadLog and
// StackInterner, without the hooked calls. Built with the thread sanitizer in scripts/test. Each
// thread writes records that carry its number and a counter; what the files hold afterwards is
// compared with what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "interposer/calls/call_path.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/module_list.h"
#include "interposer/log/process.h"
#include "interposer/log/record_range.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "interposer/log/unwinder_functions.h"

namespace gmt::interposer {

// The parts of a session that a program without CUDA has.
constinit const SessionPart kParts[] = {{forget_texts, nullptr},
                                        {forget_noted_modules, note_all_modules}};
constinit const SessionParts session_parts{kParts, std::size(kParts)};

namespace {

namespace fs = std::filesystem;

// Made-up call stacks, a new one every few calls: libunwind frees its caches when a thread ends,
// which is later than the thread sanitizer's runtime can follow.
int made_up_backtrace(void** frames, int size) {
  static thread_local std::uint64_t calls = 0;
  const int count = std::min(size, 12);
  for (int i = 0; i < count; ++i) {
    frames[i] = reinterpret_cast<void*>(0x10000 + calls / 3 * 64 + static_cast<std::uint64_t>(i));
  }
  ++calls;
  return count;
}

void walk_made_up_stacks() {
  UnwinderFunctions functions{};
  functions.backtrace = made_up_backtrace;
  set_unwinder(functions);
}

struct Written {
  std::uint64_t order, thread, counter;
};

// Every committed kNote record of the process's trace.
std::vector<Written> read_trace(const fs::path& folder, std::set<std::uint64_t>& orders) {
  std::vector<Written> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".log") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::size_t at = trace::kLogHeaderBytes;
    while (at + sizeof(trace::Slot) <= bytes.size()) {
      trace::Slot slot;
      std::memcpy(&slot, bytes.data() + at, sizeof slot);
      const trace::Head head = trace::unpack(slot.head);
      at += sizeof(trace::Slot) * (head.slots == 0 ? 1 : head.slots);
      if (head.kind != trace::Kind::kNote) continue;
      found.push_back({slot.order, slot.a[0], slot.a[1]});
      EXPECT_TRUE(orders.insert(slot.order).second) << "order " << slot.order << " was given twice";
    }
  }
  return found;
}

void write_records(std::uint64_t thread, unsigned count) {
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  for (unsigned i = 0; i < count; ++i) {
    Record record;
    record.kind = trace::Kind::kNote;
    record.use(i % 3 == 0 ? trace::kFirstPayloadWords + trace::kMorePayloadWords
                          : trace::kFirstPayloadWords); // some records take two slots
    trace::NoteFields(record).first(thread).second(i);
    if (i % 64 == 0) {
      log->stacks().here(*log, __builtin_return_address(0), __builtin_frame_address(0));
    }
    log->append(record, 0);
  }
}

TEST(InterposerLog, ManyThreadsWriteAndLoseNothing) {
  ASSERT_NE(std::getenv("GPUMEMTRACE_DIR"), nullptr) << "CTest sets GPUMEMTRACE_DIR";
  walk_made_up_stacks();
  // Enough to grow every log several times
  constexpr unsigned kThreads = 16, kRounds = 4, kRecords = 5000;
  // Later rounds write to logs leased from earlier ones
  for (unsigned round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back(write_records, round * kThreads + t, kRecords);
    for (std::thread& thread : threads) thread.join();
  }
  char trace[4096];
  ASSERT_TRUE(Process::path_of(".", trace, sizeof trace));
  std::set<std::uint64_t> orders;
  std::map<std::uint64_t, std::set<std::uint64_t>> by_thread;
  for (const Written& w : read_trace(trace, orders)) by_thread[w.thread].insert(w.counter);
  EXPECT_EQ(by_thread.size(), kThreads * kRounds);
  for (const auto& [thread, counters] : by_thread)
    EXPECT_EQ(counters.size(), kRecords) << "thread " << thread;
  std::size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(trace))
    logs += entry.path().extension() == ".log";
  EXPECT_LE(logs, kThreads + 1u) << "threads that ended did not pass their logs on";
  fs::remove_all(fs::path(trace).parent_path());
}

// What another thread counted is not in front of a record before its note is in that one's log.
TEST(InterposerNotes, ThoseOnTheirWayAreWrittenTwice) {
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  char trace[4096];
  ASSERT_TRUE(Process::path_of(".", trace, sizeof trace));
  const auto notes_of = [&](std::uint64_t calls) {
    std::set<std::uint64_t> orders;
    const std::vector<Written> all = read_trace(trace, orders);
    return std::ranges::count_if(
      all, [&](const Written& w) { return w.thread == calls && w.counter == 0; });
  };
  constexpr std::uint64_t kCalls = 77777;
  const auto before = notes_of(0);
  unrecorded_calls.store(kNoteOnItsWay + kCalls);
  write_unrecorded_calls(*log);
  EXPECT_EQ(notes_of(kCalls), 1);
  EXPECT_EQ(unrecorded_calls.load(), kNoteOnItsWay);
  write_unrecorded_calls(*log);
  EXPECT_EQ(notes_of(0), before + 1);
  unrecorded_calls.store(0);
  write_unrecorded_calls(*log);
  EXPECT_EQ(notes_of(0), before + 1);
  fs::remove_all(fs::path(trace).parent_path());
}

std::uintmax_t bytes_of_logs() {
  char trace[4096];
  EXPECT_TRUE(Process::path_of(".", trace, sizeof trace));
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(trace)) bytes += fs::file_size(entry);
  return bytes;
}

Record launch_of(std::uint64_t function, const std::vector<std::uint64_t>& arguments) {
  Record launch;
  launch.kind = trace::Kind::kLaunch;
  launch.words = trace::LaunchWord::kCount;
  launch.flags = trace::kLaunchScanned;
  trace::LaunchFields(launch).function(function).stream(0).grid({1, 1, 1}).block({32, 1, 1});
  for (const std::uint64_t word : arguments) launch.w[launch.words++] = word;
  return launch;
}

// As Call does it; what was chosen.
KeptArguments::Choice write_launch(ThreadLog& log, Record launch) {
  std::uint32_t stack = 0;
  KeptArguments::Choice choice;
  trace::Slot* slot = take_launch_slot(log, launch, __builtin_return_address(0),
                                       __builtin_frame_address(0), stack, choice);
  EXPECT_NE(slot, nullptr);
  if (slot == nullptr) return choice;
  fill(slot, launch, {Process::next_order(), 1, stack, 0, trace::kNoApi});
  ThreadLog::commit(slot, head_of(launch, 0));
  EXPECT_EQ(trace::unpack(slot->head).slots, trace::slots_for(launch.words));
  EXPECT_EQ(trace::arguments_number_of(slot->a[trace::LaunchWord::block]), choice.number);
  if (!choice.repeats) log.kept_arguments().keep(choice);
  return choice;
}

// Arguments that get the number of `first` and differ from it in their 30th word.
std::vector<std::uint64_t> others_of_same_number(ThreadLog& log, std::uint64_t function,
                                                 std::vector<std::uint64_t> first) {
  const KeptArguments& kept = log.kept_arguments();
  const std::uint32_t number = kept.choose(launch_of(function, first)).number;
  do {
    ++first[30];
  } while (kept.choose(launch_of(function, first)).number != number);
  return first;
}

TEST(InterposerArguments, AreWrittenOnce) {
  walk_made_up_stacks();
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  std::vector<std::uint64_t> many(60, 0x20000);
  const auto first = write_launch(*log, launch_of(1, many));
  EXPECT_FALSE(first.repeats);
  const auto second = write_launch(*log, launch_of(1, many));
  EXPECT_TRUE(second.repeats);
  EXPECT_EQ(second.number, first.number);

  many = others_of_same_number(*log, 1, many);
  const auto changed = write_launch(*log, launch_of(1, many));
  EXPECT_EQ(changed.number, first.number);
  EXPECT_FALSE(changed.repeats);
  EXPECT_TRUE(write_launch(*log, launch_of(1, many)).repeats);
  Record partly = launch_of(1, many);
  partly.flags = 0;
  EXPECT_FALSE(write_launch(*log, partly).repeats) << "other arguments may follow";
  many.pop_back();
  many.pop_back();
  EXPECT_FALSE(write_launch(*log, launch_of(1, many)).repeats) << "fewer arguments";
}

// What a signal handler wrote between the choice and the slot.
TEST(InterposerArguments, ThatWereReplacedMeanwhileAreNotRepeated) {
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  KeptArguments& kept = log->kept_arguments();
  const std::vector<std::uint64_t> mine(60, 0x40000);
  const std::vector<std::uint64_t> handlers = others_of_same_number(*log, 2, mine);
  write_launch(*log, launch_of(2, mine));
  const auto repeated = kept.choose(launch_of(2, mine));
  ASSERT_TRUE(repeated.repeats);
  EXPECT_TRUE(kept.still_holds(repeated));
  const auto unknown = kept.choose(launch_of(2, handlers));
  ASSERT_FALSE(unknown.repeats);
  write_launch(*log, launch_of(2, handlers));
  EXPECT_FALSE(kept.still_holds(repeated));
  kept.keep(unknown); // stood before the handler's in the file
  EXPECT_TRUE(kept.choose(launch_of(2, handlers)).repeats);
  kept.clear();
  EXPECT_FALSE(kept.choose(launch_of(2, handlers)).repeats);
}

std::function<void()> during_walk; // once

int interrupted_backtrace(void** frames, int size) {
  if (const auto interrupt = std::exchange(during_walk, nullptr)) interrupt();
  return made_up_backtrace(frames, size);
}

TEST(InterposerArguments, AreChosenAnewIfASignalHandlerReplacesThem) {
  UnwinderFunctions functions{};
  functions.backtrace = interrupted_backtrace;
  set_unwinder(functions);
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  const std::vector<std::uint64_t> mine(60, 0x60000);
  const std::vector<std::uint64_t> handlers = others_of_same_number(*log, 3, mine);
  write_launch(*log, launch_of(3, mine));
  ASSERT_TRUE(log->kept_arguments().choose(launch_of(3, mine)).repeats);
  bool interrupted = false;
  during_walk = [&] {
    interrupted = true;
    write_launch(*log, launch_of(3, handlers));
  };
  EXPECT_FALSE(write_launch(*log, launch_of(3, mine)).repeats);
  EXPECT_TRUE(interrupted);
  EXPECT_TRUE(log->kept_arguments().choose(launch_of(3, mine)).repeats);
}

// From one wait to the next a program does much the same: at the second one there is room for all
// of it.
TEST(InterposerRoom, IsMadeWhereTheProgramWaits) {
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  Record record;
  record.use(trace::kFirstPayloadWords);
  const auto write = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) log->append(record, 0);
  };
  constexpr unsigned kRecords = 60'000; // 3.7 MiB: several steps of growth
  log->make_room_ahead();
  write(kRecords);
  log->make_room_ahead();
  const std::uintmax_t before = bytes_of_logs();
  write(kRecords);
  EXPECT_EQ(bytes_of_logs(), before) << "the log grew between two waits";
  write(kRecords);
  EXPECT_GT(bytes_of_logs(), before) << "room for more than was ever written";
  log->make_room_ahead();
  log->make_room_ahead(); // nothing was written: no room is needed
  const std::uintmax_t after = bytes_of_logs();
  log->make_room_ahead();
  EXPECT_EQ(bytes_of_logs(), after);
}

// Launches that the limit has refused are recorded again once the command has packed something.
TEST(InterposerRoom, ComesBackWhenLogsArePacked) {
  std::uint32_t epoch = 0, number = 0;
  ThreadLog* log = Process::enter_thread(epoch, number);
  ASSERT_NE(log, nullptr);
  char trace[4096], packed[4200];
  ASSERT_TRUE(Process::path_of(".", trace, sizeof trace));
  ASSERT_TRUE(Process::path_of("packed", packed, sizeof packed));
  auto& options = const_cast<Options&>(Process::options());
  const std::uint64_t max_trace = std::exchange(options.max_trace, bytes_of_logs() + (4 << 20));
  const std::uint64_t word = 0;
  const auto write = [&] {
    return log->append_words(trace::Kind::kHostMemory, &word, 1, 0, true) != nullptr;
  };
  constexpr unsigned kMost = 1'000'000;
  unsigned tries = 0;
  while (write() && tries < kMost) ++tries;
  ASSERT_LT(tries, kMost) << "the limit was never met";
  const auto is_written_soon = [&] {
    for (tries = 0; tries < 4096; ++tries)
      if (write()) return true;
    return false;
  };
  EXPECT_FALSE(is_written_soon());
  std::ofstream(packed) << (4 << 20) << '\n';
  EXPECT_TRUE(is_written_soon());
  options.max_trace = max_trace;
  fs::remove_all(fs::path(trace).parent_path());
}

} // namespace
} // namespace gmt::interposer
