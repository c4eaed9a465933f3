// SPDX-License-Identifier: Apache-2.0
// The slots of a log as whole records: the one file that says which slots are torn and which are
// damaged (trace/FORMAT.md, "Slots").
//
// Trusts nothing: a file may end anywhere, and any slot may hold anything. A record is whole if all
// its slots are there. Damage is counted once for each record that is not whole, and once for each
// row of continuations without a first slot. Files are read, not mapped, so that one cut short by
// others meanwhile is only short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/trace_reader/log_stats.h"
#include "analyzer/trace_reader/packed_log.h"
#include "trace/records.h"

namespace gmt {

void note_loss(const trace::LossView& loss, LogStats& stats);

// A whole record, by the index of its first slot in memory.
struct SlotRecord {
  trace::Head head;
  std::size_t slot;
};

// What a zero head before a written one means.
enum class ZeroHeads {
  kTorn, // a record that was never finished; continuations behind it are its own
  kHoles // nothing: the file could not be written there, which its header counts
};

// Walks over slots that are in memory. More of them may be added behind, and dropped in front,
// between two calls.
class SlotScan {
public:
  explicit SlotScan(LogStats& stats, ZeroHeads zero_heads = ZeroHeads::kTorn)
      : stats_(stats), zero_heads_(zero_heads) {}

  // The next whole record. False if there is none, or if its rest is to be read yet, which it never
  // is at the `is_end`.
  bool next(std::span<const trace::Slot> slots, bool is_end, SlotRecord& record) {
    while (at_ < slots.size()) {
      const std::uint64_t word = slots[at_].head;
      if (word == 0) {
        ++zeros_;
        ++at_;
        continue;
      }
      if (zeros_ != 0) note_zeros();
      record = {trace::unpack(word), at_};
      if (record.head.slots == 1 && record.head.kind > trace::Kind::kAbandoned) {
        in_orphans_ = false;
        ++at_;
        return true;
      }
      const Step step = next_odd(slots, is_end, record.head);
      if (step == Step::kSkipped) continue;
      return step == Step::kRecord;
    }
    return false;
  }

  std::size_t position() const { return at_; } // the first slot that was not looked at
  // Zero heads behind the last record, holes included: they may be written yet.
  std::uint64_t zeros() const { return zeros_; }
  void forget_zeros(std::size_t position); // and looks at the slot of this position next
  void put_back(const SlotRecord& record) { at_ = record.slot; } // the newest one
  void dropped(std::size_t slots) { at_ -= slots; }              // in front
  void passed_zeros(std::uint64_t slots) {
    zeros_ += slots;
  } // a hole of the file, which need not be read

private:
  enum class Step { kRecord, kSkipped, kNotRead };
  Step next_odd(std::span<const trace::Slot> slots, bool is_end, const trace::Head& head);
  void skip_abandoned(std::span<const trace::Slot> slots, unsigned count);
  void note_zeros();

  LogStats& stats_;
  ZeroHeads zero_heads_;
  std::size_t at_ = 0;
  std::uint64_t zeros_ = 0; // zero heads since the last written one
  bool in_orphans_ = false; // continuations that follow are counted already
};

// Reads a log batch by batch. Where it was packed, that one is read, by the name that it had.
class SlotFile {
public:
  static constexpr std::size_t kBatch = 256; // slots read at once

  // Reads the header; stats.skipped says why there is nothing to read. With keep_open false the
  // file is opened anew for every batch: traces of more threads than there are file descriptors.
  SlotFile(std::filesystem::path path, LogStats& stats, ZeroHeads zero_heads = ZeroHeads::kTorn,
           bool keep_open = true);
  // No file: these slots
  SlotFile(std::vector<trace::Slot> slots, LogStats& stats, ZeroHeads zero_heads);
  ~SlotFile();
  SlotFile(const SlotFile&) = delete;
  SlotFile& operator=(const SlotFile&) = delete;

  // The next whole record of those in memory; false if there is none.
  bool next(SlotRecord& record) { return scan_.next({raw_.data(), available_}, at_end_, record); }
  // The same, reading on as long as there is anything to read; slots of earlier records are
  // dropped.
  bool read(SlotRecord& record);

  bool is_at_end() const { return at_end_; } // all that there is is in memory
  // All records are taken and the file ends with one: it was filled, or cut there. A packed file
  // has no room behind its records in any case.
  bool ends_in_a_record() const { return at_end_ && packed_ == nullptr && scan_.zeros() == 0; }
  void read_more();
  // The newest record was read too early: read_on() reads it once more.
  void put_back(const SlotRecord& record) {
    scan_.put_back(record);
    is_put_back_ = true;
  }
  // All of it is in memory, and no more will come. Packed files alone say so: another may grow.
  bool is_over() const { return packed_ != nullptr && at_end_ && !is_put_back_; }
  // When all records of a packed file have been taken for good: gives back its memory.
  void rest() {
    packed_->rest(true);
    drop_before(position());
    raw_ = {};
  }
  // At the end, when all records have been taken: the file may have grown since. Reading goes on
  // behind the last record, where slots were not written yet.
  void read_on();
  // Drops slots before `first`, at most those that were looked at; all indices sink by the number
  // returned.
  std::size_t drop_before(std::size_t first);

  std::size_t position() const { return scan_.position(); }
  const trace::Slot& operator[](std::size_t slot) const { return raw_[slot]; }
  const void* more_words(std::size_t slot) const { // of a slot that another one goes on in
    return reinterpret_cast<const char*>(&raw_[slot]) + offsetof(trace::MoreSlot, payload);
  }
  void expect(std::size_t slot) const { // and the next one, which may be of the same record
    prefetch(raw_.data() + slot);
    prefetch(raw_.data() + slot + 1);
  }
  void words_of(const SlotRecord& record, std::vector<std::uint64_t>& words) const; // its payload

private:
  bool open_file();
  void close_file();
  void let_packed_rest();
  void read_header();
  std::size_t read_slots(trace::Slot* into);
  void skip_hole(std::size_t slots_read);

  std::filesystem::path path_;
  LogStats& stats_;
  SlotScan scan_;
  std::unique_ptr<PackedLog> packed_;
  int fd_ = -1;
  bool keep_open_ = true;
  bool at_end_ = true;
  bool is_put_back_ = false;
  std::uint64_t offset_ = 0;
  std::vector<trace::Slot> raw_;
  std::size_t available_ = 0; // slots in raw_
};

} // namespace gmt
