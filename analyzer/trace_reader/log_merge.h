// SPDX-License-Identifier: Apache-2.0
// All logs of a process as one stream in the order of its process-wide counter. Works in runs: all
// records up to the order that every log has been read to. Since the counter is dense, a run is put
// in order by writing each record to the slot that its order names; a run where that does not work
// out (damage) is sorted.
//
// Events are decoded some time before they are handed out: what they name is all over memory, and a
// reader that looks ahead can have it fetched by then.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/trace_reader/log_reader.h"

namespace gmt {

class Merge {
public:
  explicit Merge(std::vector<std::unique_ptr<LogReader>> logs);

  static constexpr std::size_t kAhead = 8;

  // The next event, null after the last. Valid until the next call.
  const Event* next() {
    if (at_ == end_ && !next_run()) return nullptr;
    decode_ahead();
    PendingEvent& pending = pending_[at_++ % pending_.size()];
    LogReader::finish(pending, parts_);
    return &pending.event;
  }
  // What next() will return n calls after this one, 1 to kAhead; null where that is not known yet.
  // It has its kind and subject, and if it is a launch its arguments. The rest comes with next():
  // what it says depends on its kind, and who has to guess it should do so once.
  const Event* ahead(std::size_t n) const {
    const std::size_t at = at_ + n - 1;
    return at < decoded_until_ ? &pending_[at % pending_.size()].event : nullptr;
  }
  // Of the record that next() returned last, as it stands.
  std::span<const std::uint64_t> words() {
    const Item& item = run_[at_ - 1];
    return item.log->words_of(item.record, words_);
  }
  // Before the first event: of these logs, by number, each is the file that the log before it in
  // the list went on in. It is opened when that one ends: a long run has hundreds of them.
  void follow_on(const std::vector<std::size_t>& logs);
  // After the last event: logs may have grown since. What they hold now comes next, in its own
  // order: it is not put between events that were handed out before.
  void read_on();
  // The process is running. Only records are handed out whose order was known before the logs were
  // read on: then no thread can come with an earlier one any more. With false, all are.
  void follow(bool is_running);
  // Whether read_on() would hand out more at once.
  bool has_newer() const { return follows_ && newest_order() > limit_; }
  void add(std::unique_ptr<LogReader> log); // between the last event and read_on()
  const std::vector<std::unique_ptr<LogReader>>& logs() const { return logs_; }

private:
  struct Item {
    LogReader::Record record;
    LogReader* log = nullptr; // null where a run has no record of an order
  };
  struct Chain {
    LogReader* log;                   // the file that is read now
    std::vector<std::size_t> waiting; // numbers of later ones, the next one last
  };
  struct Taken { // what a log gives to a run
    std::span<const LogReader::Record> records;
    LogReader* log;
  };
  static constexpr std::size_t kFetchAhead = 8; // before they are decoded
  void decode_ahead() {                         // several at a time
    if (decoded_until_ > at_ + kAhead || decoded_until_ == end_) return;
    const std::size_t until = std::min(end_, at_ + pending_.size());
    for (; decoded_until_ < until; ++decoded_until_) {
      if (decoded_until_ + kFetchAhead < end_) {
        const Item& later = run_[decoded_until_ + kFetchAhead];
        later.log->expect(later.record);
      }
      const Item& item = run_[decoded_until_];
      item.log->decode(item.record, pending_[decoded_until_ % pending_.size()]);
    }
  }
  bool next_run();
  void begin_next_files();
  void take();
  void close_ended_files();
  std::uint64_t newest_order() const;
  void put_in_order();
  bool put_by_order();

  std::vector<std::unique_ptr<LogReader>> logs_;
  // In the order of logs_; a trace of days has tens of thousands of these.
  std::vector<LogReader*> open_;   // begun, and not over
  std::vector<LogReader*> active_; // of these: not yet drained
  std::uint64_t newest_over_ = 0;  // order of a log that is over
  std::vector<Chain> chains_;
  std::vector<Taken> taken_; // a run as the logs hold it
  std::vector<Item> run_;
  std::size_t at_ = 0;            // next in run_
  std::size_t end_ = 0;           // of run_
  std::size_t decoded_until_ = 0; // in run_
  std::vector<std::uint64_t> words_;
  std::array<PendingEvent, 2 * kAhead> pending_{}; // by index in run_, modulo
  EventParts parts_;                               // of the event that was handed out last
  std::uint64_t lowest_ = 0, highest_ = 0;         // orders in taken_
  std::size_t count_ = 0;                          // of records in taken_
  bool follows_ = false;
  std::uint64_t limit_ = UINT64_MAX; // the highest order that is handed out
};

} // namespace gmt
