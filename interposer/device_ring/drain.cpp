// SPDX-License-Identifier: Apache-2.0
// Reading is trace/ring_reader.h's business, writing ThreadLog's: what it has is safe from the
// process's death, and it keeps no descriptor that a program might close.
#include "interposer/device_ring/drain.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/signal_guard.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "trace/ring_reader.h"

namespace gmt::interposer {

constinit Ring rings[kMaxRings] = {};

namespace {

// Every reader of rings, but not for ever: a round is file operations only, yet the disk may be
// slow.
constinit std::atomic<bool> drain_is_locked{false};
constexpr int kDrainLockMilliseconds = 2000;

// A record into the ring's log, its first head last.
void append(ThreadLog& log, const trace::RingRecord& record) noexcept {
  trace::Slot* slots = log.reserve(record.slots(), ThreadLog::Worth::kDroppable);
  if (slots == nullptr) return; // counted
  for (unsigned i = record.slots(); i-- > 1;) slots[i] = record[i];
  trace::Slot first = record[0];
  const std::uint64_t head = std::exchange(first.head, 0);
  std::memcpy(slots, &first, sizeof first);
  __atomic_store_n(&slots->head, head, __ATOMIC_RELEASE);
}

// Null if there can be none; the command hears of it once.
ThreadLog* log_of(Ring& ring) noexcept {
  if (ring.log != nullptr || ring.without_log) return ring.log;
  ring.log = ThreadLog::create_for_ring(ring.memory.number);
  if (ring.log != nullptr) return ring.log;
  ring.without_log = true;
  char reason[128];
  std::snprintf(reason, sizeof reason, "no log for what kernels record: %s",
                strerrordesc_np(errno));
  Process::notify_command("nolog", reason);
  return nullptr;
}

// All that stands ready, of every sub-ring, since the analyzer relies on it that nothing older
// comes in later rounds; `last`: no kernel writes any more. False if there was nothing to do.
bool drain_ring(Ring& ring, bool last) noexcept {
  std::uint64_t moved = 0, torn = 0, lost = 0;
  for (unsigned i = 0; i < trace::ring_header(ring.memory.base).sub_rings; ++i) {
    trace::SubRingReader reader(ring.memory.base, i);
    lost += reader.lost();
    if (!last && !reader.ready()) continue;
    const auto take = [&ring](const trace::RingRecord& record) noexcept {
      if (ThreadLog* log = log_of(ring)) append(*log, record);
    };
    const trace::RingProgress progress =
      last ? reader.drain_rest(take) : reader.drain(UINT64_MAX, take);
    moved += progress.slots;
    torn += progress.torn;
  }
  if (moved == 0 && torn == 0 && lost == ring.lost) return false;
  ring.lost = lost;
  trace::Words<trace::DeviceDrainedWord> words;
  trace::DeviceDrainedFields(words).slots(moved).lost(lost).torn(torn);
  if (ThreadLog* log = log_of(ring))
    log->append_words(trace::Kind::kDeviceDrained, words.w, words.kCount, ring.id);
  return true;
}

bool drain_live() noexcept {
  const InsideLocks guard;
  const BoundedLock lock(drain_is_locked, kDrainLockMilliseconds);
  if (!lock.held()) return false;
  bool any = false;
  for (Ring& ring : rings) {
    if (ring.state.load(std::memory_order_acquire) == Ring::State::kLive)
      any = drain_ring(ring, false) || any;
  }
  return any;
}

// ---- the thread

// What it waits on. A launch leaves kExpecting, and wakes the thread if it is asleep.
constexpr std::uint32_t kAwake = 0, kAsleep = 1, kExpecting = 2;
constinit std::atomic<std::uint32_t> doze{kAwake};
constinit std::atomic<bool> drain_has_started{false};

long futex(int operation, std::uint32_t value, const timespec* limit) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&doze), operation | FUTEX_PRIVATE_FLAG,
                 value, limit, nullptr, 0L);
}

constexpr std::uint64_t kShortest = 50'000, kLongest = 5'000'000, kNoRings = 1'000'000'000;

// True if records are to be expected. Short sleeps are not cut short: launches that follow each
// other closely would pay for a system call each, and the thread would never rest.
bool sleep_for(std::uint64_t nanoseconds) noexcept {
  const timespec limit{static_cast<time_t>(nanoseconds / 1'000'000'000),
                       static_cast<long>(nanoseconds % 1'000'000'000)};
  std::uint32_t seen = kAwake;
  if (nanoseconds <= 4 * kShortest) {
    nanosleep(&limit, nullptr);
  } else if (doze.compare_exchange_strong(seen, kAsleep)) {
    futex(FUTEX_WAIT, kAsleep, &limit);
  }
  return doze.exchange(kAwake) == kExpecting;
}

bool any_live() noexcept {
  for (const Ring& ring : rings) {
    if (ring.state.load(std::memory_order_relaxed) == Ring::State::kLive) return true;
  }
  return false;
}

// Sleeps an eighth of the time in which nothing came, within bounds.
void* drain_thread(void*) noexcept {
  prctl(PR_SET_NAME, "gpumemtrace");
  prctl(PR_SET_TIMERSLACK, 1000);
  std::uint64_t last = monotonic_ns();
  for (;;) {
    const bool moved = drain_live();
    const std::uint64_t now = monotonic_ns();
    if (moved) last = now;
    const std::uint64_t idle = (now - last) / 8;
    std::uint64_t pause = idle;
    if (pause < kShortest) pause = kShortest;
    if (pause > kLongest) pause = kLongest;
    if (sleep_for(any_live() ? pause : kNoRings)) last = monotonic_ns();
  }
}

} // namespace

bool start_drain_thread() noexcept {
  constexpr std::size_t kStackBytes = 256 << 10;
  const SignalGuard signals; // the thread inherits that all signals wait
  if (drain_has_started.load()) return true;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const bool made = pthread_create(&thread, &attributes, drain_thread, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  if (made) drain_has_started.store(true);
  return made;
}

void begin_draining(Ring& ring) noexcept {
  ring.log = nullptr;
  ring.without_log = false;
  ring.lost = 0;
  ring.state.store(Ring::State::kLive, std::memory_order_release);
  expect_records();
}

void end_draining(Ring& ring) noexcept {
  const SignalGuard signals;
  const InsideLocks guard;
  const BoundedLock lock(drain_is_locked, kDrainLockMilliseconds);
  if (!lock.held()) return; // it stays live: nothing of it is given to another context
  drain_ring(ring, true);
  if (ring.log != nullptr) ThreadLog::end(ring.log);
  ring.log = nullptr;
  std::memset(ring.memory.base + trace::kRingHeaderBytes, 0,
              ring.memory.bytes - trace::kRingHeaderBytes);
  trace::ring_header(ring.memory.base).context = 0;
  ring.context = 0;
  ring.state.store(Ring::State::kSpare, std::memory_order_release);
}

void drain_rings() noexcept {
  if (!drain_has_started.load(std::memory_order_relaxed)) return;
  const SignalGuard signals;
  drain_live();
}

void expect_records() noexcept {
  if (doze.load(std::memory_order_relaxed) == kExpecting) return;
  if (doze.exchange(kExpecting) == kAsleep) futex(FUTEX_WAKE, 1, nullptr);
}

void forget_drain() noexcept {
  for (Ring& ring : rings) {
    ring.state.store(Ring::State::kNone);
    ring.context = 0;
    ring.memory = {};
    ring.log = nullptr;
  }
  drain_is_locked.store(false);
  doze.store(kAwake);
  drain_has_started.store(false);
}

} // namespace gmt::interposer
