// SPDX-License-Identifier: Apache-2.0
// Measured on an H100, driver 580: registering 8 MiB takes 5 ms, asking a module for the variable 9
// us, writing it 30 us the first time and 3 us later. Copies come from the host, never a memset:
// those would count as grids.
#include "interposer/device_ring/ring.h"

#include <atomic>
#include <cstring>

#include "interposer/device_ring/driver.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/loader/object_files.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_session.h"
#include "trace/ring_reader.h"

namespace gmt::interposer {

namespace {

// Making a ring: under the RingLock, the context being current.

constexpr std::size_t kLeastBytes = 256 << 10, kMostRingBytes = 1 << 30;
constinit std::atomic<unsigned> ring_count{0}; // made so far

std::uint32_t slots_of_each() noexcept {
  std::uint64_t wanted = Process::options().device_ring_size;
  if (wanted < kLeastBytes) wanted = kLeastBytes;
  if (wanted > kMostRingBytes) wanted = kMostRingBytes;
  std::uint32_t slots = 1;
  while (std::uint64_t{slots} * 2 * trace::kSubRings * trace::kSlotBytes <= wanted) slots *= 2;
  return slots;
}

void fill_header(Ring& ring, std::uint32_t slots) noexcept {
  trace::RingHeader& header = trace::ring_header(ring.memory.base);
  header.version = trace::kRingVersion;
  header.pid = static_cast<std::uint32_t>(Process::pid());
  header.sub_rings = trace::kSubRings;
  header.slots_per_sub_ring = slots;
  header.context = ring.id;
  header.device = static_cast<std::uint32_t>(ring.device);
  std::memcpy(header.magic, trace::kRingMagic, sizeof header.magic);
}

// The control's zeros come out of the ring, which is empty: memory that the device reads without a
// detour.
bool write_control(Ring& ring) noexcept {
  static_assert(sizeof(trace::DeviceControl) <= kLeastBytes);
  static constinit trace::DeviceControl first{}; // of it the first members are used
  first.version = trace::kRingVersion;
  first.wait_when_full = Process::options().device_ring_full != 0 ? 1 : 0;
  const trace::RingHeader& header = trace::ring_header(ring.memory.base);
  first.sub_rings = header.sub_rings;
  first.slots_per_sub_ring = header.slots_per_sub_ring;
  if (driver.device_pointer(&first.ring, ring.memory.base, 0) != 0) return false;
  if (driver.copy(ring.control, ring.memory.base + trace::ring_slots_offset(header.sub_rings),
                  sizeof first, ring.stream) != 0)
    return false;
  if (driver.copy(ring.control, &first, offsetof(trace::DeviceControl, reserved_words),
                  ring.stream) != 0)
    return false;
  return wait_for(ring.stream);
}

bool make_on_device(Ring& ring) noexcept {
  constexpr unsigned kPortableMapped = 3, kNonBlocking = 1;
  constexpr int kAlreadyRegistered = 712; // a spare ring's memory, still registered
  const int registered = driver.register_host(ring.memory.base, ring.memory.bytes, kPortableMapped);
  if (registered != 0 && registered != kAlreadyRegistered) return false;
  if (driver.allocate(&ring.control, sizeof(trace::DeviceControl)) == 0) {
    if (driver.make_stream(&ring.stream, kNonBlocking) == 0) {
      if (write_control(ring)) return true;
      driver.end_stream(ring.stream);
    }
    driver.release(ring.control);
  }
  driver.unregister_host(ring.memory.base);
  return false;
}

Ring* ring_in_state(Ring::State state) noexcept {
  for (Ring& ring : rings) {
    if (ring.state.load() == state) return &ring;
  }
  return nullptr;
}

// A spare ring, or one with new memory; null if there is neither.
Ring* ring_with_memory(std::size_t bytes) noexcept {
  if (Ring* spare = ring_in_state(Ring::State::kSpare)) {
    renumber_ring_memory(spare->memory, ring_count);
    return spare;
  }
  Ring* ring = ring_in_state(Ring::State::kNone);
  return ring != nullptr && make_ring_memory(ring->memory, bytes, ring_count) ? ring : nullptr;
}

void refuse(std::uint64_t context) noexcept {
  Ring* ring = ring_in_state(Ring::State::kNone);
  if (ring == nullptr) return;
  ring->context = context;
  driver.context_device(&ring->device);
  ring->state.store(Ring::State::kRefused);
}

// Null if it could not be made.
Ring* make_ring(ThreadLog& log, std::uint64_t context) noexcept {
  const std::uint32_t slots = slots_of_each();
  Ring* ring =
    start_drain_thread() ? ring_with_memory(trace::ring_bytes(trace::kSubRings, slots)) : nullptr;
  if (ring == nullptr) {
    refuse(context);
    return nullptr;
  }
  ++ring_count;
  ring->context = context;
  ring->id = current_context(log);
  ring->device = -1;
  driver.context_device(&ring->device);
  fill_header(*ring, slots);
  if (make_on_device(*ring)) {
    begin_draining(*ring);
    return ring;
  }
  // Other contexts may have it registered: it stays
  const bool spare = ring->state.load() == Ring::State::kSpare;
  if (!spare) drop_ring_memory(ring->memory);
  ring->context = 0;
  refuse(context);
  return nullptr;
}

// Contexts that were looked at when they were made: programs retain the primary one again and
// again.
constexpr unsigned kLookedAtEntries = 64;
constinit std::atomic<std::uint64_t> looked_at[kLookedAtEntries] = {};
std::atomic<std::uint64_t>& looked_at_entry(std::uint64_t context) noexcept {
  return looked_at[context * 0x9fb21c651e98df25u >> 58];
}

void end_ring(Ring& ring) noexcept {
  looked_at_entry(ring.context).store(0);
  if (ring.state.load() == Ring::State::kLive) {
    end_draining(ring);
  } else {
    ring.context = 0;
    ring.state.store(Ring::State::kNone);
  }
}

bool is_of_context(const Ring& ring) noexcept {
  const Ring::State state = ring.state.load();
  return state == Ring::State::kLive || state == Ring::State::kRefused;
}

} // namespace

Ring* ring_of(ThreadLog& log, std::uint64_t context) noexcept {
  for (Ring& ring : rings) {
    const Ring::State state = ring.state.load();
    if (ring.context != context || (state != Ring::State::kLive && state != Ring::State::kRefused))
      continue;
    return state == Ring::State::kLive ? &ring : nullptr;
  }
  return make_ring(log, context);
}

void context_was_made(std::uint64_t context) noexcept {
  std::atomic<std::uint64_t>& entry = looked_at_entry(context);
  if (context == 0 || entry.load(std::memory_order_relaxed) == context) return;
  entry.store(context);
  if (!any_object_has_note(trace::kNoteOwner, trace::kNoteType)) return;
  ThreadLog* log = thread_log();
  const RingLock lock;
  if (log == nullptr || !lock.ready() || driver.push_context(context) != 0) return;
  ring_of(*log, context);
  std::uint64_t popped = 0;
  driver.pop_context(&popped);
}

void context_has_ended(std::uint64_t context) noexcept {
  looked_at_entry(context).store(0);
  if (ring_count.load() == 0) return;
  const RingLock lock;
  for (Ring& ring : rings) {
    if (is_of_context(ring) && ring.context == context) end_ring(ring);
  }
}

void primary_context_was_left(int device, bool reset) noexcept {
  if (ring_count.load() == 0) return;
  const RingLock lock;
  for (Ring& ring : rings) {
    if (!is_of_context(ring) || ring.device != device || !is_primary_context(ring.context))
      continue;
    unsigned flags = 0;
    int active = 0;
    if (reset ||
        (lock.ready() && driver.primary_state(device, &flags, &active) == 0 && active == 0))
      end_ring(ring);
  }
}

void forget_device_rings() noexcept {
  RingLock::forget();
  for (auto& entry : looked_at) entry.store(0);
  if (ring_count.exchange(0) != 0) forget_drain();
}

} // namespace gmt::interposer
