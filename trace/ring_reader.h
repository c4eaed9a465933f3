// SPDX-License-Identifier: Apache-2.0
// Takes records out of a ring that kernels fill (trace/device_ring.h): the interposer's drain while
// they run and when their context ends, the command when the process died first.
//
//   if (!ring_is_sound(mapping, bytes)) ...                 // once a mapping
//   SubRingReader reader(mapping, i);                        // one for each of
//   ring_header(mapping).sub_rings RingProgress p = reader.drain(4096, [&](const RingRecord&
//   record) {   // whole records only, in ticket order
//     for (unsigned i = 0; i < record.slots(); ++i) append(record[i]);    // or
//     record.copy_to(slots)
//   });                                                      // returns at once at a slot that is
//   not written yet reader.drain_rest(take);                                 // end of life: no
//   kernel writes any more; passes over torn slots
//
// Invariants: one reader of a ring at a time. A slot is taken when all its words have arrived, in
// whatever order they did. Records are only valid inside the call of `take`: their slots are zeroed
// and `consumed` is raised afterwards, in this order, which gives them back to the kernels. If a
// process is killed between its log's writes and that, the next reader meets the same records
// again: a record is known by its sub-ring and its ticket. The mapping must be writable (private
// will do). C++17, no call, no memory, nothing of CUDA's or of the C++ library.
#pragma once

#include "trace/device_ring.h"

namespace gmt::trace {

inline RingHeader& ring_header(void* mapping) { return *static_cast<RingHeader*>(mapping); }

// Whether `bytes` bytes at `mapping` are a whole ring of this version.
inline bool ring_is_sound(const void* mapping, std::size_t bytes) {
  if (bytes < sizeof(RingHeader)) return false;
  const RingHeader& header = *static_cast<const RingHeader*>(mapping);
  for (unsigned i = 0; i < sizeof kRingMagic; ++i) {
    if (header.magic[i] != kRingMagic[i]) return false;
  }
  const auto power_of_two = [](std::uint32_t n) { return n != 0 && (n & (n - 1)) == 0; };
  return header.version == kRingVersion && power_of_two(header.sub_rings) &&
         header.sub_rings <= kMaxSubRings && power_of_two(header.slots_per_sub_ring) &&
         ring_bytes(header.sub_rings, header.slots_per_sub_ring) <= bytes;
}

inline constexpr unsigned kSlotWords = kSlotBytes / sizeof(std::uint64_t);

// Words of slots are written by others while they are read here.
inline std::uint64_t arrived_word(const Slot& slot, unsigned i) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&slot) + i, __ATOMIC_RELAXED);
}

// A record in place: its slots need not be neighbours, it may begin at the sub-ring's end and go on
// at its beginning.
class RingRecord {
public:
  RingRecord(const Slot* ring, std::uint64_t mask, std::uint64_t ticket, unsigned slots)
      : ring_(ring), mask_(mask), ticket_(ticket), slots_(slots) {}
  unsigned slots() const { return slots_; }
  std::uint64_t ticket() const { return ticket_; }
  Slot operator[](unsigned i) const {
    const Slot& sent = ring_[(ticket_ + i) & mask_];
    std::uint64_t words[kSlotWords] = {arrived_word(sent, 0)};
    for (unsigned k = 1; k < kSlotWords; ++k)
      words[k] = is_zero_word(words[0], k) ? 0 : arrived_word(sent, k);
    words[0] = sent_head(words[0], 0);
    Slot slot;
    __builtin_memcpy(&slot, words, sizeof slot);
    return slot;
  }
  void copy_to(Slot* out) const {
    for (unsigned i = 0; i < slots_; ++i) out[i] = (*this)[i];
  }

private:
  const Slot* ring_;
  std::uint64_t mask_, ticket_;
  unsigned slots_;
};

struct RingProgress {
  std::uint64_t slots; // of whole records
  // Passed over: reserved, and not written when their context died (or overwritten by the program)
  std::uint64_t torn;
};

class SubRingReader {
public:
  SubRingReader(void* mapping, unsigned index) : index_(index) {
    const RingHeader& header = ring_header(mapping);
    char* const base = static_cast<char*>(mapping);
    counters_ = reinterpret_cast<RingCounters*>(base + kRingHeaderBytes) + index;
    capacity_ = header.slots_per_sub_ring;
    ring_ = reinterpret_cast<Slot*>(base + ring_slots_offset(header.sub_rings)) +
            std::size_t{index} * capacity_;
  }

  // Takes records until a slot is not written yet, or at least `most` slots were taken.
  template <typename Take>
  RingProgress drain(std::uint64_t most, Take&& take) {
    const std::uint64_t begin = consumed();
    return read(begin, begin + (most < capacity_ ? most : capacity_), false, take, 0);
  }

  // Takes all that is left. Slots that were never written are torn if a later slot is written;
  // others look like free ones. Nor are those before `known`, the ticket behind the last record
  // that an earlier reader took: it may have been killed while it zeroed them.
  template <typename Take>
  RingProgress drain_rest(Take&& take, std::uint64_t known = 0) {
    const std::uint64_t begin = consumed();
    std::uint64_t end = begin + capacity_;
    while (end > begin && arrived(end - 1) == 0) --end;
    return read(begin, end, true, take, known);
  }

  bool ready() const {
    return arrived(consumed()) == kSlotWords;
  } // drain() has something to look at
  std::uint64_t consumed() const { return __atomic_load_n(&counters_->consumed, __ATOMIC_RELAXED); }
  std::uint64_t lost() const { return __atomic_load_n(&counters_->lost, __ATOMIC_RELAXED); }

private:
  Slot& slot(std::uint64_t ticket) const { return ring_[ticket & (capacity_ - 1)]; }

  unsigned arrived(std::uint64_t ticket) const { // how many of the slot's words
    unsigned words = 0;
    for (unsigned i = 0; i < kSlotWords; ++i) words += arrived_word(slot(ticket), i) != 0 ? 1 : 0;
    return words;
  }

  // Slots of the record that begins at the ticket, all there; kNotYet if some are not, 0 if none
  // begins there.
  static constexpr unsigned kNotYet = ~0u;
  unsigned record_slots(std::uint64_t ticket) const {
    if (arrived(ticket) != kSlotWords) return kNotYet;
    const Head first = unpack(arrived_word(slot(ticket), 0));
    const Slot plain = RingRecord(ring_, capacity_ - 1, ticket, 1)[0];
    DeviceSlot named;
    __builtin_memcpy(&named, &plain, sizeof named);
    if (first.kind == Kind::kNone || first.kind == Kind::kMore || first.slots == 0 ||
        first.slots > capacity_)
      return 0;
    if (named.ticket != pack_ticket(ticket, index_)) return 0;
    for (unsigned i = 1; i < first.slots; ++i) {
      if (arrived(ticket + i) != kSlotWords) return kNotYet;
      if (unpack(arrived_word(slot(ticket + i), 0)).kind != Kind::kMore) return 0;
    }
    return first.slots;
  }

  template <typename Take>
  RingProgress read(std::uint64_t begin, std::uint64_t end, bool at_end_of_life, Take& take,
                    std::uint64_t known) {
    RingProgress progress{};
    std::uint64_t ticket = begin;
    while (ticket < end) {
      const unsigned slots = record_slots(ticket);
      if (slots == kNotYet && !at_end_of_life) break;
      if (slots == 0 || slots == kNotYet) {
        progress.torn += ticket >= known ? 1 : 0;
        ++ticket;
      } else {
        take(RingRecord(ring_, capacity_ - 1, ticket, slots));
        progress.slots += slots;
        ticket += slots;
      }
    }
    for (std::uint64_t t = begin; t < ticket; ++t) {
      auto* const words = reinterpret_cast<std::uint64_t*>(&slot(t));
      for (unsigned i = 0; i < kSlotWords; ++i)
        __atomic_store_n(words + i, std::uint64_t{0}, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&counters_->consumed, ticket, __ATOMIC_RELEASE);
    return progress;
  }

  unsigned index_;
  std::uint64_t capacity_;
  RingCounters* counters_;
  Slot* ring_;
};

} // namespace gmt::trace
