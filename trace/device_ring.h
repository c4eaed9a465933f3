// SPDX-License-Identifier: Apache-2.0
// The memory in which kernels leave records of their malloc and free: what device_hooks writes, the
// interposer makes and drains, and the analyzer reads if the process died before it was drained.
// trace/FORMAT.md, "Device rings", is the same in prose.
//
// A context has one DeviceControl in device memory, where slots are reserved, and one ring file in
// memory that host and device share at equal addresses (/dev/shm, registered with CUDA), where they
// are published. The ring file is split into sub-rings, chosen by SM, so that a full GPU does not
// meet at one counter.
//
// A writer whose sub-ring is full goes on to the next, so that one busy SM has the whole ring.
//
// Invariants: a ticket is the number of a slot since the ring's beginning; ticket t lives in slot t
// % capacity of its sub-ring. A ticket is only given out when the slot's former content was
// consumed, so every ticket given out is written, or torn by the death of its context. In the ring
// no word of a slot is 0 (sent_word()): each says itself whether it has arrived, and a kernel need
// not wait, with a fence across the bus, for some before it sends others. The drain zeroes slots
// before it raises `consumed`. C++17, includes nothing of CUDA's.
#pragma once

#include "format.h" // beside this file also where device_hooks installs both

namespace gmt::trace {

inline constexpr std::uint32_t kRingVersion = 2;
inline constexpr char kRingMagic[8] = {'G', 'M', 'T', 'R', 'I', 'N', 'G', '1'};

// The variable of an instrumented module that holds the DeviceControl's address, 0 while nothing is
// recorded. The name is that of device_hooks' variable template; it is in every module that
// includes the header, and once in each linked one.
inline constexpr char kControlSymbol[] = "_ZN3gmt6device7controlILi1EEE";

// An ELF note (PT_NOTE) of host code that was built with instrumented kernels: a context gets its
// ring when it is made if a loaded object has one, else when the first instrumented kernel is
// launched.
inline constexpr char kNoteOwner[] = "gpumemtrace";
inline constexpr std::uint32_t kNoteType = 1;

inline constexpr unsigned kMaxSubRings = 256;
inline constexpr unsigned kSubRings = 32; // what the interposer makes; a power of two
// A power of two; further ones are site 0, "somewhere"
inline constexpr unsigned kMaxDeviceSites = 4096;
inline constexpr unsigned kGridTableEntries = 1024;

// DeviceOp: the low 4 flag bits of kDeviceAlloc and kDeviceFree.
inline constexpr std::uint16_t kDeviceOpMask = 15;
// DeviceSpace: the next two flag bits of kDeviceFree.
inline constexpr unsigned kDeviceSpaceShift = 4;
inline constexpr std::uint16_t kDeviceSpaceMask = 3 << kDeviceSpaceShift;
// The flags of a kDeviceAlloc or kDeviceFree.
GMT_HOST_DEVICE constexpr std::uint16_t device_flags(DeviceOp op, DeviceSpace space) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(op) | static_cast<unsigned>(space)
                                                                  << kDeviceSpaceShift);
}
constexpr DeviceOp device_op(std::uint16_t flags) {
  return static_cast<DeviceOp>(flags & kDeviceOpMask);
}
constexpr DeviceSpace device_space(std::uint16_t flags) {
  return static_cast<DeviceSpace>((flags & kDeviceSpaceMask) >> kDeviceSpaceShift);
}
// Head.result of an allocation that gave NULL
inline constexpr std::uint16_t kDeviceOutOfMemory = 2;

// The first slot of a record that a kernel wrote: a trace::Slot whose words 1 to 3 mean something
// else.
struct DeviceSlot {
  std::uint64_t head; // pack(Head); api is kNoApi
  // %globaltimer: nanoseconds, of the clock that CLOCK_REALTIME sets on the machines measured
  std::uint64_t time;
  std::uint64_t ticket; // ticket:56 sub-ring:8 (low to high)
  std::uint64_t who;    // pack_who()
  std::uint64_t a[kFirstPayloadWords];
};
static_assert(sizeof(DeviceSlot) == kSlotBytes);

// site:32 thread x:10 y:10 z:6 (low to high); 6 bits are free.
GMT_HOST_DEVICE constexpr std::uint64_t pack_who(std::uint32_t site, unsigned x, unsigned y,
                                                 unsigned z) {
  return std::uint64_t{site} | std::uint64_t{x & 1023u} << 32 | std::uint64_t{y & 1023u} << 42 |
         std::uint64_t{z & 63u} << 52;
}
// DeviceSlot::ticket. Only a record's first slot has one.
GMT_HOST_DEVICE constexpr std::uint64_t pack_ticket(std::uint64_t ticket, unsigned sub_ring) {
  return (ticket & ((std::uint64_t{1} << 56) - 1)) | std::uint64_t{sub_ring} << 56;
}
// x:31 y:16 z:16 (low to high): a block's index, or a grid's extents.
GMT_HOST_DEVICE constexpr std::uint64_t pack_block(unsigned x, unsigned y, unsigned z) {
  return std::uint64_t{x & 0x7fffffffu} | std::uint64_t{y & 0xffffu} << 31 |
         std::uint64_t{z & 0xffffu} << 47;
}
constexpr std::uint64_t ticket_of(std::uint64_t word) {
  return word & ((std::uint64_t{1} << 56) - 1);
}
constexpr unsigned sub_ring_of(std::uint64_t word) { return static_cast<unsigned>(word >> 56); }
constexpr Index3 thread_of(std::uint64_t who) {
  return {static_cast<unsigned>(who >> 32 & 1023), static_cast<unsigned>(who >> 42 & 1023),
          static_cast<unsigned>(who >> 52 & 63)};
}
constexpr Index3 block_of(std::uint64_t word) {
  return {static_cast<unsigned>(word & 0x7fffffff), static_cast<unsigned>(word >> 31 & 0xffff),
          static_cast<unsigned>(word >> 47)};
}
constexpr std::uint32_t site_of(std::uint64_t who) { return static_cast<std::uint32_t>(who); }

// A slot's words as they stand in the ring. A word that is 0 is sent as 1, and its bit of the
// head's api is clear: bit i - 1 for word i. What the reader gives has the plain words, and kNoApi.
GMT_HOST_DEVICE constexpr std::uint64_t sent_word(std::uint64_t word) {
  return word != 0 ? word : 1;
}
GMT_HOST_DEVICE constexpr std::uint64_t sent_head(std::uint64_t head, unsigned zeros) {
  return (head | std::uint64_t{kNoApi} << 16) & ~(std::uint64_t{zeros} << 16);
}
GMT_HOST_DEVICE constexpr bool is_zero_word(std::uint64_t head, unsigned i) {
  return (head >> (15 + i) & 1) == 0;
}

// First page of a ring file; then consumed and lost counters, then the slots of sub-ring 0, 1, ...
struct RingHeader {
  char magic[8]; // kRingMagic
  std::uint32_t version, pid;
  std::uint32_t sub_rings, slots_per_sub_ring; // both powers of two
  std::uint32_t context, device;               // kContext id and device ordinal
};
inline constexpr std::size_t kRingHeaderBytes = 4096;

// One for each sub-ring, behind the header page. A cache line for each writer.
struct alignas(128) RingCounters {
  // Tickets read so far; written by the host, read by the device when its own copy says full
  alignas(64) std::uint64_t consumed;
  // Records dropped because the sub-ring was full; written by the device
  alignas(64) std::uint64_t lost;
};
static_assert(sizeof(RingCounters) == 128);

GMT_HOST_DEVICE constexpr std::size_t ring_slots_offset(unsigned sub_rings) {
  return kRingHeaderBytes + sub_rings * sizeof(RingCounters);
}
constexpr std::size_t ring_bytes(unsigned sub_rings, unsigned slots_per_sub_ring) {
  return ring_slots_offset(sub_rings) + std::size_t{sub_rings} * slots_per_sub_ring * kSlotBytes;
}

// In device memory, one a context; zeroed but for the first members.
struct DeviceControl {
  std::uint32_t version; // kRingVersion; device code of another version leaves the ring alone
  std::uint32_t wait_when_full; // 0: drop and count
  std::uint32_t sub_rings, slots_per_sub_ring;
  std::uint64_t ring; // address of the RingHeader, valid on the device
  std::uint64_t reserved_words[13];
  struct alignas(128) SubRing {
    std::uint64_t reserved;      // next ticket
    std::uint64_t consumed_seen; // RingCounters::consumed when last looked at
  } sub[kMaxSubRings];
  // Keys with a lowest bit that says whether the record that describes it is in the ring; 0 free.
  std::uint64_t sites[kMaxDeviceSites];   // of the site whose id is index + 1
  std::uint64_t grids[kGridTableEntries]; // twice the grid's id; newer ones displace older ones
};
static_assert(sizeof(DeviceControl) ==
              128 + kMaxSubRings * 128 + (kMaxDeviceSites + kGridTableEntries) * 8);

} // namespace gmt::trace
