// SPDX-License-Identifier: Apache-2.0
// One log of a trace as a stream of events in rising order (trace/FORMAT.md, "Slots"). Used by Merge only.
//
// Trusts nothing: lengths are bounded, torn slots and records that make no sense are counted and skipped,
// kinds it does not know likewise, a file may end anywhere. Files are read, not mapped, so that one cut short
// by somebody else while we read is only short. Orders within a log rise but for small inversions: records
// are held back for a window of kWindow before they are handed out.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/base/prefetch.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {

struct LogStats {
  std::uint64_t records = 0;           // good ones, stacks included
  std::uint64_t torn = 0;              // slots reserved and never finished
  std::uint64_t damaged = 0;           // records whose bytes make no sense
  std::uint64_t unknown_kinds = 0;     // records of a later minor
  std::array<std::uint64_t, 8> lost{}; // by trace::LossCause
  std::string skipped;                 // why nothing of the file was read; empty if it was
  bool tells_threads = false;          // by kThread records: since 1.5
};

// Takes over what a log's header says. `page` is what the file begins with, kLogHeaderBytes unless the file is
// shorter. False if its slots cannot be read; `skipped` says why.
bool note_header(std::span<const char> page, LogStats& stats);

void note_loss(const trace::LossView& loss, LogStats& stats);

class LogReader {
public:
  static constexpr std::size_t kBatch = 256; // slots read at once
  static constexpr std::size_t kWindow = 32; // records over which inversions are put right

  struct Record { // a whole record that has been read
    std::uint64_t order;
    std::uint32_t slot; // index into what is in memory
    StackId stack;
  };

  // `log` is the log's index in the trace. With keep_open false the file is opened anew for every batch:
  // traces of more threads than there are file descriptors.
  LogReader(std::filesystem::path path, std::uint32_t log, StackTable& stacks, bool keep_open);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Records in order that may be handed out now. make_ready() reads on if there are none, and says whether
  // there are any; it invalidates records taken before.
  bool make_ready() {
    if (next_ >= limit_ && !at_end_) refill();
    return next_ < limit_;
  }
  std::span<const Record> ready() const { return {records_.data() + next_, limit_ - next_}; }
  bool is_complete() const { return at_end_; } // what is ready is all there is
  void take(std::size_t n) { next_ += n; }

  void expect(const Record& record) const { prefetch(&raw_[record.slot]); } // decode() is to come
  // `payload` holds the words of a record of several slots; the event is valid until make_ready().
  void decode(const Record& record, Event& event, std::vector<std::uint64_t>& payload) const;
  const LogStats& stats() const { return stats_; }

private:
  bool open_file();
  void close_file();
  void read_header();
  void refill();
  void drop_used();
  void read_more();
  void skip_hole(std::size_t slots_read);
  void parse();
  bool parse_record(); // false if the record's rest has not been read yet
  void skip_abandoned(unsigned slots);
  void keep(const trace::Slot& slot, unsigned slots);
  void define_stack(unsigned slots);
  void begin_thread(const trace::Slot& slot);
  std::uint32_t thread_of(std::uint32_t slot) const;
  StackId stack_of(std::uint32_t id) const;
  std::uint64_t payload_word(std::size_t slot, unsigned word) const;

  std::filesystem::path path_;
  StackTable& stacks_;
  LogStats stats_;
  int fd_ = -1;
  bool keep_open_;
  std::uint32_t log_;
  bool at_end_ = true; // nothing more to read
  std::uint64_t offset_ = 0;

  std::vector<trace::Slot> raw_;
  std::size_t available_ = 0; // slots in raw_
  std::size_t parsed_ = 0;    // of them, looked at
  std::uint64_t zeros_ = 0;   // zero heads since the last written one: torn if another follows
  bool orphans_counted_ = false;

  struct Lease { // from this slot on the log is this thread's
    std::uint32_t slot, thread;
  };
  std::vector<Lease> leases_; // of what is in memory, at least one

  std::vector<Record> records_;
  std::size_t next_ = 0;  // first of records_ not taken
  std::size_t limit_ = 0; // up to here records_ may be taken
  bool sorted_ = true;
  std::uint64_t last_order_ = 0;

  std::vector<StackId> stack_ids_; // by the log's own ids, which count up from 1
  std::unordered_map<std::uint32_t, StackId> odd_stack_ids_;
  std::vector<std::uint64_t> scratch_; // a stack's frames
};

} // namespace gmt
