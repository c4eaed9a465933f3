// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/host_watches.h"

#include <algorithm>
#include <csignal>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/options.h"
#include "interposer/base/signal_guard.h"
#include "interposer/loader/mapped_path.h"
#include "trace/packed_words.h"

namespace gmt::interposer {

constinit std::atomic<bool> watches_host{false};

namespace {

constexpr std::uint64_t kWatchedPage = 4096;
// Are protected all together: beside a GPU a call costs some 14 us, for one page as for these.
constexpr std::uint64_t kFewPages = 256;
constexpr unsigned kMostBlocks = 1024, kMostWatches = 128, kMostParts = 3, kMostEvents = 256;
constexpr int kLockTime = 200; // milliseconds: of the lock

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool meets(const Range& other) const noexcept { return begin < other.end && other.begin < end; }
  bool holds(std::uint64_t address) const noexcept { return begin <= address && address < end; }
};

// A copy in flight, and its pages. What is open is kept until its entry is taken: another thread
// may have faulted there at the same time.
struct Watch {
  Range bytes;
  Range pages[kMostParts];
  unsigned parts = 0;
  bool is_open = true;
  bool is_written = false; // by the device
  bool is_closed_to_readers = false;
  std::uint64_t order = 0, stream = 0;
  std::uint64_t number = 0; // of all copies and records of events
  std::uint64_t waits = 0;  // of streams for others, before it
};

struct Recorded { // an event
  std::uint64_t event = 0, stream = 0, number = 0;
};

constinit std::atomic<bool> watches_lock{false};
constinit std::atomic<unsigned> closed{0}; // watches
constinit HostWatcher watcher{};
constinit std::atomic<bool> has_begun{false};
constinit Range watched_blocks[kMostBlocks] = {};
constinit Watch watches[kMostWatches] = {};
constinit Recorded watched_events[kMostEvents] = {};
constinit unsigned block_count = 0, next_watch = 0;
constinit std::uint64_t numbers = 0, stream_waits = 0;

void protect(const Range& pages, int how) noexcept {
  (void)mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, how);
}

// With those that share a page with it.
void open(Watch& watch) noexcept {
  if (watch.is_open) return;
  watch.is_open = true;
  closed.fetch_sub(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < watch.parts; ++i) protect(watch.pages[i], PROT_READ | PROT_WRITE);
  for (Watch& other : watches) {
    if (other.is_open) continue;
    bool shares = false;
    for (unsigned i = 0; i < watch.parts; ++i) {
      for (unsigned k = 0; k < other.parts; ++k) shares |= watch.pages[i].meets(other.pages[k]);
    }
    if (shares) open(other);
  }
}

template <class Which> void open_where(Which which) noexcept {
  if (closed.load(std::memory_order_relaxed) == 0) return;
  for (Watch& watch : watches) {
    if (!watch.is_open && which(watch)) open(watch);
  }
}

void open_all() noexcept {
  open_where([](const Watch&) { return true; });
}

// The legacy stream and that of a thread: others may wait for it, and it for them.
bool is_default(std::uint64_t stream) noexcept { return stream <= 2; }

// Whether who knows that the stream is done so far may know that of the copy.
bool may_cover(std::uint64_t stream, const Watch& watch) noexcept {
  return stream == watch.stream || is_default(stream) || is_default(watch.stream) ||
         watch.waits != stream_waits;
}

Recorded& entry_of(std::uint64_t event) noexcept {
  return watched_events[(event >> 4) * 0x9e3779b97f4a7c15u >> 56];
}

void on_event_done(std::uint64_t event) noexcept {
  const Recorded recorded = entry_of(event);
  open_where([&](const Watch& watch) {
    if (recorded.event != event) return true;
    return watch.number < recorded.number && may_cover(recorded.stream, watch);
  });
}

void follow_sync(const trace::SyncView& sync) noexcept {
  using trace::SyncOp;
  switch (sync.op()) {
  case SyncOp::kStreamSynchronize:
  case SyncOp::kStreamQuery:
    return open_where([&](const Watch& watch) { return may_cover(sync.stream(), watch); });
  case SyncOp::kEventSynchronize:
  case SyncOp::kEventQuery: return on_event_done(sync.event());
  case SyncOp::kElapsedTime: return open_all();
  case SyncOp::kContextSynchronize: return open_all();
  case SyncOp::kEventRecord:
    entry_of(sync.event()) = {sync.event(), sync.stream(), ++numbers};
    return;
  default: ++stream_waits; return;
  }
}

// Pages that are opened again may be read and written: only where the program may do so, too.
void follow_alloc(const trace::AllocView& alloc) noexcept {
  if (block_count == kMostBlocks || alloc.address() == 0) return;
  if (alloc.memory_kind() == trace::MemoryKind::kRegistered &&
      !is_mapped_writable(alloc.address(), alloc.address() + alloc.bytes()))
    return;
  watched_blocks[block_count++] = {alloc.address(), alloc.address() + alloc.bytes()};
}

// The driver has waited for all work, as it does when it frees memory.
void follow_free(std::uint64_t address) noexcept {
  open_all();
  for (unsigned i = 0; i < block_count; ++i) {
    if (watched_blocks[i].begin != address) continue;
    for (Watch& watch : watches) {
      if (watched_blocks[i].meets(watch.bytes)) watch = {};
    }
    watched_blocks[i] = watched_blocks[--block_count];
    return;
  }
}

const Range* block_of(const Range& bytes) noexcept {
  for (unsigned i = 0; i < block_count; ++i) {
    if (watched_blocks[i].begin <= bytes.begin && bytes.end <= watched_blocks[i].end)
      return &watched_blocks[i];
  }
  return nullptr;
}

void choose_pages(Watch& watch, const Range& block) noexcept {
  const auto down = [](std::uint64_t address) { return address / kWatchedPage * kWatchedPage; };
  const auto up = [&](std::uint64_t address) { return down(address + kWatchedPage - 1); };
  const std::uint64_t begin = std::max(down(watch.bytes.begin), up(block.begin));
  const std::uint64_t end = std::min(up(watch.bytes.end), down(block.end));
  if (begin >= end) return;
  if (end - begin <= kFewPages * kWatchedPage) {
    watch.pages[watch.parts++] = {begin, end};
    return;
  }
  const std::uint64_t middle = down(begin + (end - begin) / 2);
  for (const std::uint64_t page : {begin, middle, end - kWatchedPage})
    watch.pages[watch.parts++] = {page, page + kWatchedPage};
}

void watch_bytes(const Range& bytes, bool is_written, const trace::CopyView& copy,
                 std::uint64_t order) noexcept {
  const Range* block = bytes.begin < bytes.end ? block_of(bytes) : nullptr;
  if (block == nullptr) return;
  if (!watcher.may_protect()) {
    if (!watches_host.load()) open_all();
    return;
  }
  Watch watch;
  watch.bytes = bytes;
  watch.is_written = is_written;
  watch.order = order;
  watch.stream = copy.stream();
  watch.number = ++numbers;
  watch.waits = stream_waits;
  choose_pages(watch, *block);
  if (watch.parts == 0) return;
  Watch& entry = watches[next_watch++ % kMostWatches];
  open(entry);
  // What another copy writes stays closed to readers
  watch.is_closed_to_readers = is_written;
  for (const Watch& other : watches) {
    for (unsigned i = 0; i < watch.parts && !other.is_open && other.is_written; ++i) {
      for (unsigned k = 0; k < other.parts; ++k)
        watch.is_closed_to_readers |= watch.pages[i].meets(other.pages[k]);
    }
  }
  entry = watch;
  entry.is_open = false;
  closed.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < watch.parts; ++i)
    protect(watch.pages[i], watch.is_closed_to_readers ? PROT_NONE : PROT_READ);
}

// Of copies in two and three dimensions the rows may leave gaps that are the host's.
void follow_copy(const Record& record, std::uint64_t order) noexcept {
  const trace::CopyView copy(record);
  if ((record.flags & trace::kCopyAsync) == 0) return open_all(); // on the default stream
  if (record.words > trace::CopyWord::destination_pitch || order == 0) return;
  const std::uint64_t bytes = copy.bytes();
  watch_bytes({copy.source(), copy.source() + bytes}, false, copy, order);
  watch_bytes({copy.destination(), copy.destination() + bytes}, true, copy, order);
}

// Its fault would end the process. The C library's calls that block it are
// libgpumemtrace_host.so's.
bool is_segv_blocked() noexcept {
  std::uint64_t mask = 0;
  (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
  return (mask >> (SIGSEGV - 1) & 1) != 0;
}

// What is allocated and freed on the device in stream order waits for nothing.
bool concerns_watches(const Record& record) noexcept {
  switch (record.kind) {
  case trace::Kind::kSync:
  case trace::Kind::kUse:
  case trace::Kind::kCopy: return true;
  case trace::Kind::kAlloc: {
    const trace::MemoryKind kind = trace::AllocView(record).memory_kind();
    // Managed pages of a GPU are its driver's to protect
    return kind == trace::MemoryKind::kPinned || kind == trace::MemoryKind::kRegistered ||
           (kind == trace::MemoryKind::kManaged && is_device_simulated());
  }
  case trace::Kind::kFree:
    return trace::FreeView(record).function() != trace::FreeFunction::kMemFreeAsync;
  default: return false;
  }
}

void add(UsedCopies& copies, const Watch& watch) noexcept {
  if (copies.count < UsedCopies::kMost) copies.orders[copies.count++] = watch.order;
}

} // namespace

void begin_host_watches(const HostWatcher& by) noexcept {
  watcher = by;
  has_begun.store(false);
  watches_host.store(true);
}

void end_host_watches() noexcept {
  watches_host.store(false);
  const SignalGuard signals;
  const BoundedLock held(watches_lock, kLockTime);
  if (held.held()) open_all();
}

void forget_host_watches() noexcept {
  open_host_watches_in_child();
  block_count = 0;
}

// No other thread is there that could hold the lock.
void open_host_watches_in_child() noexcept {
  watches_lock.store(false);
  open_all();
  for (Watch& watch : watches) watch = {};
}

void follow_host_watches(const Record& record, std::uint64_t order) noexcept {
  if (!has_begun.load(std::memory_order_relaxed) && !has_begun.exchange(true)) watcher.begins();
  if (!concerns_watches(record)) return;
  if (record.kind == trace::Kind::kCopy && is_segv_blocked()) return;
  const SignalGuard signals;
  const BoundedLock held(watches_lock, kLockTime);
  if (!held.held()) return;
  switch (record.kind) {
  case trace::Kind::kSync: return follow_sync(trace::SyncView(record));
  case trace::Kind::kAlloc: return follow_alloc(trace::AllocView(record));
  case trace::Kind::kFree: return follow_free(trace::FreeView(record).address());
  case trace::Kind::kCopy: return follow_copy(record, order);
  case trace::Kind::kUse: ++stream_waits; return; // streams may wait for memory
  default: return;
  }
}

bool open_faulted_page(std::uint64_t address, bool writes, UsedCopies& copies) noexcept {
  const BoundedLock held(watches_lock, kLockTime);
  const std::uint64_t page = address / kWatchedPage * kWatchedPage;
  if (!held.held()) { // the holder opens or closes pages: this one is open in any case
    protect({page, page + kWatchedPage}, PROT_READ | PROT_WRITE);
    return true;
  }
  copies.closings = numbers;
  bool is_ours = false;
  for (Watch& watch : watches) {
    bool has_page = false;
    for (unsigned i = 0; i < watch.parts; ++i) has_page |= watch.pages[i].holds(address);
    if (!has_page) continue;
    is_ours = true;
    if (watch.is_open) continue;
    if (watch.bytes.holds(address) && (writes || watch.is_written)) add(copies, watch);
    open(watch);
  }
  return is_ours;
}

void open_used_memory(std::uint64_t address, std::uint64_t bytes, bool writes,
                      UsedCopies& copies) noexcept {
  if (closed.load(std::memory_order_relaxed) == 0 || bytes == 0) return;
  const SignalGuard signals;
  const BoundedLock held(watches_lock, kLockTime);
  const Range used{address, address + bytes};
  if (!held.held()) return;
  for (Watch& watch : watches) {
    if (watch.is_open || !(writes || watch.is_closed_to_readers)) continue;
    bool has_page = false;
    for (unsigned i = 0; i < watch.parts; ++i) has_page |= watch.pages[i].meets(used);
    const bool is_used = watch.bytes.meets(used) && (writes || watch.is_written);
    if (is_used) add(copies, watch);
    if (is_used || has_page) open(watch);
  }
}

} // namespace gmt::interposer
