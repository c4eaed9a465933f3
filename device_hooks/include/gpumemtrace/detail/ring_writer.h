// SPDX-License-Identifier: Apache-2.0
// Puts records into a ring (gpumemtrace/trace/device_ring.h), in a kernel or, in tests, in a thread
// of the host.
//
// Invariants: of the lanes of a warp that arrive together one reserves for all, so that a full warp
// meets at the counter once. Tickets are only given out for slots that the reader has given back.
// Where a sub-ring is full the next ones are tried; only if all are full the record is lost and
// counted, or waits. Accesses across the bus are a record's writes, 16 bytes at a time, in no order
// and not waited for, and a look at `consumed`, which is awaited, when a sub-ring seems full: once
// in a sub-ring's capacity while the reader keeps up.
#pragma once

#include "gpumemtrace/detail/shared_word.h"
#include "gpumemtrace/trace/device_ring.h"
#include "gpumemtrace/trace/record_words.h"

namespace gmt::device {

inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

// The lanes that come here together and want the same. A thread of the host comes alone.
struct Team {
  unsigned mask, rank, size;

  template <typename T>
  GMT_HOST_DEVICE explicit Team(T wanted) {
#if defined(__CUDA_ARCH__)
    unsigned lanes_before;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_before));
    mask = __match_any_sync(__activemask(), wanted);
    rank = static_cast<unsigned>(__popc(mask & lanes_before));
    size = static_cast<unsigned>(__popc(mask));
#else
    (void)wanted;
    mask = 1, rank = 0, size = 1;
#endif
  }
  // The value of the lane of rank 0.
  template <typename T>
  GMT_HOST_DEVICE T of_leader(T value) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(mask, value, __ffs(static_cast<int>(mask)) - 1);
#else
    return value;
#endif
  }
};

class RingWriter {
public:
  GMT_HOST_DEVICE RingWriter(trace::DeviceControl& control, unsigned sub_ring)
      : control_(control), index_(sub_ring & (control.sub_rings - 1)) {}

  // The ticket of the first of `slots` neighbouring slots, for publish(), or kNoTicket: the ring is
  // full and the loss is counted. Not inlined: what it needs in registers is not needed beside what
  // its callers need.
  __attribute__((noinline)) GMT_HOST_DEVICE std::uint64_t reserve(unsigned slots) {
    for (unsigned tried = 0;;) {
      const Team team(index_ << 16 | tried << 8 | slots); // lanes may differ in all three
      std::uint64_t first = 0;
      unsigned granted = 0;
      if (team.rank == 0) granted = take(team.size, slots, first);
      first = team.of_leader(static_cast<unsigned long long>(first));
      granted = team.of_leader(granted);
      if (team.rank < granted) return first + std::uint64_t{team.rank} * slots;
      const bool never_fits = slots > control_.slots_per_sub_ring;
      if (!never_fits) {
        index_ = (index_ + 1) & (control_.sub_rings - 1);
        if (++tried < control_.sub_rings)
          continue; // to the next sub-ring; after the last it is the first again
      }
      if (control_.wait_when_full == 0 || never_fits) {
        if (team.rank == granted) DeviceWord(counters().lost).add_relaxed(team.size - granted);
        return kNoTicket;
      }
      tried = 0;
#if defined(__CUDA_ARCH__)
      __nanosleep(1000);
#endif
    }
  }

  // Writes a record of head.slots slots where reserve() said; word(i) is its payload's word i. Each
  // word tells the reader itself that it has arrived (trace::sent_word()).
  template <typename Words>
  GMT_HOST_DEVICE void publish(std::uint64_t ticket, trace::Head head, std::uint64_t time,
                               std::uint64_t who, Words word) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (unsigned i = 1; i < head.slots; ++i) publish_more(ticket, i, word);
    publish_first(ticket, head, time, who, word);
  }

  // The parts of it, in any order: slot i from 1 on, and the first one.
  template <typename Words>
  GMT_HOST_DEVICE void publish_more(std::uint64_t ticket, unsigned i, Words word) {
    std::uint64_t* const more = slot(ticket + i);
    const unsigned from = trace::kFirstPayloadWords + (i - 1) * trace::kMorePayloadWords;
    unsigned zeros = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (unsigned k = 0; k < trace::kMorePayloadWords; ++k) {
      const std::uint64_t next = word(from + k);
      zeros |= (next == 0 ? 1u : 0u) << k;
      HostWord(more[1 + k]).store_relaxed(trace::sent_word(next));
    }
    const std::uint64_t head = trace::pack({trace::Kind::kMore, 0, trace::kNoApi, 0, 0});
    HostWord(more[0]).store_relaxed(trace::sent_head(head, zeros));
  }
  // The words are all at hand before the first is sent: writes that follow one another closely
  // cross the bus as one.
  template <typename Words>
  GMT_HOST_DEVICE void publish_first(std::uint64_t ticket, trace::Head head, std::uint64_t time,
                                     std::uint64_t who, Words word) {
    std::uint64_t* const first = slot(ticket);
    using Slot = trace::DeviceSlot;
    constexpr unsigned kTicket = offsetof(Slot, ticket) / 8, kPayload = offsetof(Slot, a) / 8;
    // Sent in pairs
    static_assert(offsetof(Slot, time) == 8 && offsetof(Slot, who) == 8 * (kTicket + 1));
    static_assert(trace::kFirstPayloadWords == 4);
    const std::uint64_t name = trace::pack_ticket(ticket, index_);
    const std::uint64_t words[] = {word(0), word(1), word(2), word(3)};
    unsigned zeros = (time == 0 ? 1u : 0u) | (name == 0 ? 2u : 0u) | (who == 0 ? 4u : 0u);
    for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i) {
      // GCC's sanitizers make a wrong index of this within the shift
      const unsigned is_zero = words[i] == 0 ? 1 : 0;
      zeros |= is_zero << (3 + i);
    }
    send(first, trace::sent_head(trace::pack(head), zeros), time);
    send(first + kTicket, name, who);
    send(first + kPayload, words[0], words[1]);
    send(first + kPayload + 2, words[2], words[3]);
  }

private:
  // Two words at once: half as many writes cross the bus.
  GMT_HOST_DEVICE static void send(std::uint64_t* to, std::uint64_t low, std::uint64_t high) {
    low = trace::sent_word(low), high = trace::sent_word(high);
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low), "l"(high) : "memory");
#else
    HostWord(to[0]).store_relaxed(low);
    HostWord(to[1]).store_relaxed(high);
#endif
  }

  GMT_HOST_DEVICE trace::RingCounters& counters() const {
    return reinterpret_cast<trace::RingCounters*>(control_.ring + trace::kRingHeaderBytes)[index_];
  }
  GMT_HOST_DEVICE std::uint64_t* slot(std::uint64_t ticket) const {
    const std::uint64_t capacity = control_.slots_per_sub_ring;
    const std::uint64_t number = index_ * capacity + (ticket & (capacity - 1)); // among all slots
    const std::uint64_t slots = control_.ring + trace::ring_slots_offset(control_.sub_rings);
    return reinterpret_cast<std::uint64_t*>(slots + number * trace::kSlotBytes);
  }

  // Reserves for as many of `wanted` records as there is room for; says for how many.
  GMT_HOST_DEVICE unsigned take(unsigned wanted, unsigned slots, std::uint64_t& first) {
    trace::DeviceControl::SubRing& sub = control_.sub[index_];
    // `seen` passes on what the host did before it raised `consumed`. On the device no order is
    // needed for that: the lane that looked has waited for the host's word, and a write that
    // depends on it cannot reach the bus before. There an acquire would empty the cache at every
    // call.
    const DeviceWord reserved(sub.reserved), seen(sub.consumed_seen);
    std::uint64_t consumed = seen.load_host_acquire();
    std::uint64_t ticket = reserved.load_relaxed();
    for (bool looked = false;;) {
      // 32 bits do. Negative if what was seen is older than a ring ago; more than a ring if ticket
      // is, and then the exchange fails.
      const int room = static_cast<int>(consumed + control_.slots_per_sub_ring - ticket);
      const int needed = static_cast<int>(wanted * slots);
      // What the host says is across the bus: asked only when it matters
      if (room < needed && !looked) {
        consumed = HostWord(counters().consumed).load_acquire();
        seen.store_host_release(consumed);
        ticket = reserved.load_relaxed();
        looked = true;
        continue;
      }
      unsigned granted = 0;
      if (room >= needed) granted = wanted;
      else if (room > 0) granted = static_cast<unsigned>(room) / slots;
      if (granted == 0) return 0;
      first = ticket;
      if (reserved.exchange_relaxed(ticket, ticket + std::uint64_t{granted} * slots)) {
        return granted;
      }
    }
  }

  trace::DeviceControl& control_;
  unsigned index_;
};

} // namespace gmt::device
