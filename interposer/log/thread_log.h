// SPDX-License-Identifier: Apache-2.0
// One thread's file of slots: reserve, fill, commit. A log belongs to one thread at a time and is
// leased on when that thread ends, so that many short threads make few files.
//
// A file that cannot grow is not tried at every record: first in smaller steps, then ever more
// seldom. What is refused meanwhile costs no system call.
//
// Invariants: the file is mapped whole (a window of address space beyond its end costs nothing), so
// a slot stays valid for the life of the process, and stands in the file until its log has left the
// next one; no descriptor is held between events; reservation is one instruction, so a signal
// handler on the same thread takes its own slots; growth blocks signals.
#pragma once

#include <cstdint>

#include "interposer/log/kept_arguments.h"
#include "interposer/log/record.h"
#include "interposer/log/stack_interner.h"
#include "trace/format.h"

namespace gmt::interposer {

class ThreadLog {
public:
  // What is lost first when the trace is at its limit, and what the heap cannot be known without.
  enum class Worth : std::uint8_t {
    kNothing,    // less than any record
    kDroppable,  // launches, copies
    kNeeded,     // names, call stacks and the like
    kAllocation, // without it a release says nothing
    kRelease,    // or an object's life: without it memory seems to be alive
  };
  static Worth worth_of(const Record& record) noexcept {
    if (record.droppable) return Worth::kDroppable;
    return record.kind == trace::Kind::kAlloc ? Worth::kAllocation : Worth::kRelease;
  }

  // A new log for this thread, null if no file could be made. The object lives in memory mapped for
  // it alone.
  static ThreadLog* create(std::uint32_t sequence) noexcept;
  // The log of a device ring, device-<number>.log: leased to no thread, written under a lock of its
  // owner's.
  static ThreadLog* create_for_ring(std::uint32_t number) noexcept;
  // Sums of a context, access-<number>.log: the same, and its records are raised after they were
  // written.
  static ThreadLog* create_for_sums(std::uint32_t number) noexcept;
  // The log is leased to this thread, whose number in the process this is.
  void begin_thread(std::uint32_t number) noexcept;
  static void end(ThreadLog* log) noexcept; // no thread writes to it or patches its slots any more

  // `slots` consecutive slots, or null: the loss is counted by cause.
  trace::Slot* reserve(unsigned slots, Worth worth) noexcept {
    if (worth <= refused_ && !has_room_again()) [[unlikely]]
      return count_loss(trace::LossCause::kTraceLimit, worth);
    const std::uint32_t index = take(slots);
    if (index + slots > capacity_) [[unlikely]]
      return grow(index, slots, worth);
    return base_ + index;
  }

  // Before a call that waits: room for as much as was written since the last one, so that the calls
  // until the next need not make it.
  void make_room_ahead() noexcept {
    // Of a file begun since then: too much, or nothing to do
    const std::uint32_t used = next_ - next_at_wait_;
    next_at_wait_ = next_;
    const std::uint32_t ahead = used < kMostSlotsAhead ? used : kMostSlotsAhead;
    if (next_ + ahead > capacity_) [[unlikely]]
      grow_ahead(next_ + ahead);
  }

  // The record's words, in as many slots as they need.
  static void fill(trace::Slot* slot, const Record& record) noexcept {
    for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i) slot->a[i] = record.w[i];
    if (record.words > trace::kFirstPayloadWords) fill_more(slot, record.w.data(), record.words);
  }
  // Comes last, with release order: from here on the record survives. `head` is packed.
  static void commit(trace::Slot* slot, std::uint64_t head) noexcept {
    __atomic_store_n(&slot->head, head, __ATOMIC_RELEASE);
  }

  // The lines that the next record goes to come while the program computes; it would wait for them
  // otherwise.
  static void prefetch_behind(const trace::Slot* slot) noexcept {
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + 1, 1);
  }

  // A record that is no CUDA call: order is the current one, nothing is in flight.
  void append(const Record& record, std::uint16_t api) noexcept;
  // Where it stands, null if it was lost.
  trace::Slot* append_words(trace::Kind kind, const std::uint64_t* words, unsigned count,
                            std::uint16_t context = 0, bool droppable = false) noexcept;

  // Gives a reserved slot up, so that it is not taken for a torn one.
  [[gnu::cold]] static void abandon(trace::Slot* slot, unsigned slots) noexcept;

  trace::Slot* count_loss(trace::LossCause cause, Worth worth) noexcept;
  // The release of what found no room itself.
  trace::Slot* count_unneeded() noexcept { return count_loss(refused_for_, Worth::kNeeded); }

  std::uint32_t file() const noexcept { return file_; } // changes when the log begins another file
  StackInterner& stacks() noexcept { return stacks_; }
  KeptArguments& kept_arguments() noexcept { return kept_arguments_; }
  ThreadLog* next_free = nullptr; // list of logs whose thread has ended
  // Session it belongs to: after fork the parent's logs are not the child's
  std::uint32_t epoch = 0;

private:
  // Only this thread and its own signal handlers reserve here: one instruction is atomic enough, no
  // bus lock needed.
  std::uint32_t take(unsigned slots) noexcept {
    std::uint32_t index = slots;
    asm volatile("xaddl %0, %1" : "+r"(index), "+m"(next_) : : "memory");
    return index;
  }
  // A step costs some hundred microseconds: rare enough, small enough. The larger, the less a MiB
  // costs: 267 us in steps of 1 MiB, 202 in steps of 4 (ext4, a Xeon).
  static constexpr std::uint64_t kMaxStepBytes = 4 << 20;
  static constexpr std::uint32_t kFirstRest = 255;
  static constexpr std::uint32_t kMostSlotsAhead = (4 << 20) / trace::kSlotBytes;
  enum class Purpose : std::uint8_t { kThread, kRing, kSums };
  static ThreadLog* create(std::uint32_t sequence, Purpose purpose) noexcept;
  trace::Slot* grow(std::uint32_t index, unsigned slots, Worth worth) noexcept;
  [[gnu::cold]] void grow_ahead(std::uint32_t slots) noexcept;
  bool extend_to(std::uint32_t slots, Worth worth) noexcept;
  bool extend_between(std::uint64_t need, std::uint64_t most, unsigned kept) noexcept;
  bool extend_by(std::uint64_t bytes, unsigned kept) noexcept;
  trace::Slot* refuse(std::uint32_t index, unsigned slots, Worth worth) noexcept;
  bool make_resident(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t end) noexcept;
  void leave_file() noexcept;
  void refuse_up_to(Worth worth) noexcept; // the trace is at its limit for them
  [[gnu::noinline]] bool has_room_again() noexcept;
  std::uint64_t file_bytes() const noexcept {
    return trace::kLogHeaderBytes + std::uint64_t{capacity_} * trace::kSlotBytes;
  }
  std::uint64_t bytes_to(std::uint32_t slots) const noexcept { // from the file's end, for so many
    return std::uint64_t{slots - capacity_} * trace::kSlotBytes;
  }
  bool open_file() noexcept;
  bool begin_header(trace::LogHeader* header, std::uint32_t tid) noexcept;
  bool rotate(Worth worth) noexcept;
  void write_thread() noexcept;
  static void fill_more(trace::Slot* slot, const std::uint64_t* words, unsigned count) noexcept;

  std::uint32_t next_ = 0;
  std::uint32_t capacity_ = 0; // slots that the file has room for
  std::uint32_t next_at_wait_ = 0;
  trace::Slot* base_ = nullptr;
  Worth refused_ = Worth::kNothing;  // up to this: the trace is at the limit for them
  std::uint32_t refusals_ = 0;       // since then
  std::uint64_t credit_refused_ = 0; // what packing had given back then
  Purpose purpose_ = Purpose::kThread;
  std::uint32_t file_ = 0; // number of files this log has begun
  std::uint32_t rest_ = 0; // records to refuse before the file is tried again
  std::uint32_t next_rest_ = kFirstRest;
  trace::LossCause refused_for_ = trace::LossCause::kTraceLimit; // of the last refusal
  std::uint64_t step_ = kMaxStepBytes; // the most to grow by, as the file system lets it
  std::uint64_t given_back_ = 0;       // up to here the mapping's pages were given back
  std::uint32_t window_ = 0;           // slots that the mapping has room for
  void* left_ = nullptr;               // mapping of the file before
  std::uint64_t left_bytes_ = 0;
  trace::LogHeader* header_ = nullptr;
  StackInterner stacks_;
  KeptArguments kept_arguments_;
  std::uint32_t sequence_ = 0;
  std::uint32_t thread_ = 0; // number of the thread that it is leased to
  char path_[4200] = {};
  // path_ while the file is being made; a thread's stack may be too small for it
  char unfinished_[4208] = {};
};

} // namespace gmt::interposer
