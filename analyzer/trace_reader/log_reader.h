// SPDX-License-Identifier: Apache-2.0
// One log of a trace as a stream of events in rising order (trace/FORMAT.md, "Slots").
//
// Kinds that are not known are counted and skipped. Orders within a log rise but for small
// inversions: records are held back for a window of kWindow before they are handed out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/model/event.h"
#include "analyzer/trace_reader/event_decoder.h"
#include "analyzer/trace_reader/reused_addresses.h"
#include "analyzer/trace_reader/slot_file.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {

class LogReader {
public:
  static constexpr std::size_t kWindow = 32; // records over which inversions are put right

  struct Record { // a whole record that has been read
    std::uint64_t order;
    std::uint32_t slot; // index into what is in memory
    StackId stack;
  };

  // `log` is the log's index in the trace; keep_open as of SlotFile. `reused`: of the trace's
  // object files; null if no addresses are.
  LogReader(std::filesystem::path path, std::uint32_t log, StackTable& stacks, bool keep_open,
            std::shared_ptr<const ReusedAddresses> reused = nullptr);

  // Records in order that may be handed out now. make_ready() reads on before there are none, and
  // says whether there are any; it invalidates records taken before.
  bool make_ready() {
    if (next_ + kFewReady > limit_ && !is_complete()) refill();
    return next_ < limit_;
  }
  std::span<const Record> ready() const { return {records_.data() + next_, limit_ - next_}; }
  // What is ready is all there is, or all that can be read now.
  bool is_complete() const { return is_waiting_ || file_.is_at_end(); }
  void take(std::size_t n) { next_ += n; }
  void read_on() { // the file may have grown since all of it was taken
    is_waiting_ = false;
    file_.read_on();
  }
  // All of it was taken, and it grows no more.
  bool is_over() const { return file_.is_over() && !is_waiting_ && next_ == records_.size(); }
  void rest(); // when it is over: gives back its memory, but for what is known of it as a whole
  // The process is running: a call that has not returned, and what follows it in the log, waits
  // for read_on().
  void follow(bool is_running) { follows_ = is_running; }
  std::uint64_t newest_order() const { return last_order_; } // of all records that were read

  void expect(const Record& record) const { file_.expect(record.slot); } // decode() is to come
  // Valid until make_ready(). Of an event that is no launch only the subject is there before
  // finish(), which may let it point to `parts`.
  void decode(const Record& record, PendingEvent& pending) const {
    const trace::Slot& slot = file_[record.slot];
    const trace::Head head = trace::unpack(slot.head);
    Event& event = pending.event;
    event.api = head.api;
    event.via = slot.via;
    event.result = head.result;
    event.context = slot.context;
    event.thread = leases_.size() == 1 ? leases_.front().thread : thread_of(record.slot);
    event.log = log_;
    event.stack = record.stack;
    event.order = record.order;
    event.time = slot.time;
    event.ticks = trace::ticks_of(slot.order);
    event.kind = static_cast<EventKind>(head.kind);
    if (head.kind == trace::Kind::kLaunch) return decode_launch_at(record.slot, pending);
    event.say(event::Subject{slot.a[trace::AllocWord::address], slot.a[trace::AllocWord::bytes]});
    pending.flags = head.flags;
    pending.payload = {slot.a, trace::kFirstPayloadWords};
    if (head.slots != 1) decode_rest({head, record.slot}, pending);
  }
  static void finish(PendingEvent& pending, EventParts& parts) {
    Event& event = pending.event;
    if (event.kind != EventKind::kLaunch)
      decode_words(static_cast<trace::Kind>(event.kind), pending.flags, pending.payload, parts,
                   event);
  }
  // The record's words, as if every launch had its arguments itself. May be `words`, which must
  // live as long.
  std::span<const std::uint64_t> words_of(const Record& record,
                                          std::vector<std::uint64_t>& words) const;
  std::uint32_t number() const { return log_; }
  const LogStats& stats() const { return stats_; }
  bool ends_in_a_record() const { return file_.ends_in_a_record(); } // when all of it is taken

private:
  // The more each log has, the more a merge can take from all of them at once.
  static constexpr std::size_t kFewReady = SlotFile::kBatch / 4;
  void refill();
  void drop_used();
  void parse();
  bool waits_for(const SlotRecord& record);
  void keep(const SlotRecord& record);
  void keep_odd(const SlotRecord& record);
  void define_stack(const SlotRecord& record);
  void define_python_code(const SlotRecord& record);
  void define_python_stack(const SlotRecord& record);
  void name_stack(std::uint64_t id, StackId stack);
  void begin_thread(std::uint32_t slot);
  void note_arguments(const SlotRecord& launch);
  void decode_launch_at(std::uint32_t slot, PendingEvent& pending) const;
  void decode_rest(const SlotRecord& record, PendingEvent& pending) const;
  std::uint16_t resolve_launch(std::uint32_t slot, std::vector<std::uint64_t>& words) const;
  std::uint32_t thread_of(std::uint32_t slot) const;
  StackId stack_of(std::uint32_t id) const;
  StackId stack_at(StackId stack, std::uint64_t order);

  StackTable& stacks_;
  LogStats stats_;
  SlotFile file_;
  std::uint32_t log_;

  struct Lease { // from this slot on the log is this thread's
    std::uint32_t slot, thread;
  };
  std::vector<Lease> leases_; // of what is in memory, at least one

  struct Arguments { // of a launch that others repeat
    std::uint16_t scanned;
    std::vector<std::uint64_t> words;
  };
  struct Repeat { // the launch at this slot has these
    std::uint32_t slot;
    std::shared_ptr<const Arguments> arguments;
  };
  std::vector<std::shared_ptr<const Arguments>> kept_; // by number, as far as the file is read
  std::vector<Repeat> repeats_;                        // of what is in memory

  std::vector<Record> records_;
  std::size_t next_ = 0;  // first of records_ not taken
  std::size_t limit_ = 0; // up to here records_ may be taken
  bool sorted_ = true;
  bool follows_ = false;
  bool is_waiting_ = false; // for a call to return
  std::uint64_t last_order_ = 0;

  std::vector<StackId> stack_ids_; // by the log's own ids, which count up from 1
  std::unordered_map<std::uint32_t, StackId> odd_stack_ids_;
  std::shared_ptr<const ReusedAddresses> reused_; // null if there are none
  std::unordered_map<std::uint32_t, bool> moves_; // stacks with such addresses, by their ids
  std::unordered_map<std::uint32_t, PythonCode> python_code_; // by the log's own ids
  std::vector<std::uint64_t> scratch_;                        // a stack's words
};

} // namespace gmt
