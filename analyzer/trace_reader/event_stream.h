// SPDX-License-Identifier: Apache-2.0
// One trace as a merged stream of events. Reads records and counts what could not be read; what the
// records say is for others to model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/log_stats.h"
#include "analyzer/trace_reader/stack_table.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class Merge;

// What reading the logs cost in records, all logs together.
struct ReadStats {
  LogStats total;                                                          // `skipped` unused
  std::vector<std::pair<std::filesystem::path, std::string>> skipped_logs; // and why
  std::uint64_t lost() const;
  std::uint64_t memory_lost_from() const; // records of allocations or releases; 0 never
};

class EventStream {
public:
  explicit EventStream(TraceDir trace);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // The next record in merged order, null after the last; valid until the next call. Besides calls
  // these are what stands before kAlloc in trace/format.h, stacks excepted.
  const Event* next();
  // The payload words of the record that next() returned last, for who shows records as they stand.
  std::span<const std::uint64_t> words();
  // Before the first record: stacks of Python that differ in the interpreter's own frames are one.
  void join_python_stacks();
  // After the last record: the process may have written more since, and next() goes on with it. Its
  // new logs are not looked for, and calls that were in flight are not read again.
  void read_on();
  // The process is running: next() returns what is certain, and read_on() finds new logs, too.
  // Calls that have not returned wait. With false, once it has ended, all that is left comes.
  void follow(bool is_running);
  bool has_newer() const; // behind the last record: read_on() at once
  // Records that next() will return that many calls after this one, or null: of them only the kind,
  // the subject and the arguments of a launch are known.
  static constexpr std::size_t kFar = 8, kNear = 4;
  const Event* far_ahead() const { return far_ahead_; }
  const Event* near_ahead() const { return near_ahead_; }

  const TraceDir& trace() const { return trace_; }
  const StackTable& stacks() const { return stacks_; }
  // A stack that is in no log.
  StackId add_stack(std::span<const std::uint64_t> addresses) { return stacks_.intern(addresses); }
  StackTable take_stacks() { return std::move(stacks_); } // after the last event
  ReadStats stats() const;                                // of what has been read so far
  std::uint64_t threads() const;                          // whose calls have been seen so far
  // After the last record: the last files of logs that have no room behind it, as they are full or
  // were cut there.
  std::vector<std::filesystem::path> filled_logs() const;

private:
  void note_thread(const Event& e);
  void add_new_logs();

  TraceDir trace_;
  StackTable stacks_;
  std::unique_ptr<Merge> merge_;
  const Event* far_ahead_ = nullptr;
  const Event* near_ahead_ = nullptr;
  bool follows_ = false;
  std::unordered_set<std::uint32_t> threads_;         // numbers, where logs have them
  static constexpr std::uint32_t kRecentThreads = 64; // events of several threads alternate
  std::vector<std::uint32_t> recent_threads_ = std::vector(kRecentThreads, ~std::uint32_t{0});
};

} // namespace gmt
