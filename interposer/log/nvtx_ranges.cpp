// SPDX-License-Identifier: Apache-2.0
// No lock anywhere: a thread's ranges are its own, what belongs to the process stands in small
// tables of atomics; where a table is full, the record is still written, only a forked child will
// not know of it.
#include "interposer/log/nvtx_ranges.h"

#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/signal_guard.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/process.h"
#include "interposer/log/record_range.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"

namespace gmt::interposer {

constinit std::atomic<bool> nvtx_in_use{false};

namespace {

using trace::RangeOp;

struct OpenRange {
  std::uint64_t domain;
  const Name* name;
};

struct ThreadRanges {
  static constexpr unsigned kMaxDepth = 64;
  OpenRange open[kMaxDepth];
  unsigned depth;   // of `open`
  unsigned beyond;  // open, but too deep to be kept
  unsigned logged;  // ranges that are open as `log` has it
  unsigned written; // of these, how many are open still, from the outermost
  ThreadLog* log;   // null: none knows of this thread
  std::uint32_t file;
};

constinit thread_local ThreadRanges* thread_ranges __attribute__((tls_model("initial-exec"))) =
  nullptr;
constinit std::atomic<bool> key_made{false};
constinit pthread_key_t end_key = 0;

// A thread has ended. Its page goes back; a later destructor of the same thread that pushes again
// gets another.
void on_end_of_ranges(void* ranges) noexcept {
  const SignalGuard signals;
  thread_ranges = nullptr;
  munmap(ranges, sizeof(ThreadRanges));
}

ThreadRanges* make_ranges() noexcept {
  const SignalGuard signals;
  if (thread_ranges != nullptr) return thread_ranges;
  void* page =
    mmap(nullptr, sizeof(ThreadRanges), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (key_made.load(std::memory_order_acquire)) pthread_setspecific(end_key, page);
  return thread_ranges = new (page) ThreadRanges{};
}

inline ThreadRanges* my_ranges() noexcept {
  return thread_ranges != nullptr ? thread_ranges : make_ranges();
}

// ---- what belongs to the process

struct StartedRange {
  std::atomic<std::uint64_t> id; // 0: free; kFilling: being filled
  std::uint64_t domain;
  const Name* name;
};
constexpr std::uint64_t kFilling = ~std::uint64_t{0};
constexpr unsigned kMaxStarted = 256;
constinit StartedRange started_ranges[kMaxStarted] = {};
constinit std::atomic<unsigned> started_end{0}; // entries from here on were never used
constinit std::atomic<std::uint64_t> last_range_id{0};

struct Fact {                       // a name, or a mark from before the trace
  std::atomic<std::uint32_t> state; // kFree, kBusy, kReady
  RangeOp op;
  std::uint64_t domain;
  std::atomic<const Name*> name;
  std::uint64_t what;
};
enum : std::uint32_t { kFree, kBusy, kReady };
constexpr unsigned kMaxFacts = 512;
constinit Fact facts[kMaxFacts] = {};
constinit std::atomic<std::uint32_t> facts_epoch{0}; // session that they were written for

void keep_fact(RangeOp op, std::uint64_t domain, const Name* name, std::uint64_t what) noexcept {
  for (Fact& fact : facts) {
    std::uint32_t state = fact.state.load(std::memory_order_acquire);
    if (state == kFree && fact.state.compare_exchange_strong(state, kBusy)) {
      fact.op = op;
      fact.domain = domain;
      fact.name.store(name);
      fact.what = what;
      fact.state.store(kReady);
      return;
    }
    if (state != kReady || fact.op != op || fact.domain != domain || fact.what != what) continue;
    if (op == RangeOp::kMark && fact.name.load() != name) continue;
    fact.name.store(name);
    return;
  }
}

void append(ThreadLog& log, RangeOp op, std::uint64_t domain, const Name* name,
            std::uint64_t what) noexcept {
  Record record;
  record.kind = trace::Kind::kRange;
  const std::uint64_t text = name != nullptr ? append_text(log, name->text()) : 0;
  trace::RangeFields(record).op(op).domain(domain).text(text).id(what);
  log.append(record, trace::kNoApi);
}

// Once a session: what was said before it began, or in the parent of this process.
void write_facts(ThreadLog& log) noexcept {
  const std::uint32_t epoch = Process::epoch();
  if (facts_epoch.exchange(epoch) == epoch) return;
  for (const Fact& fact : facts) {
    if (fact.state.load() == kReady) append(log, fact.op, fact.domain, fact.name.load(), fact.what);
  }
  for (unsigned i = 0; i < started_end.load(); ++i) {
    const std::uint64_t id = started_ranges[i].id.load(std::memory_order_acquire);
    if (id != 0 && id != kFilling)
      append(log, RangeOp::kStart, started_ranges[i].domain, started_ranges[i].name, id);
  }
}

// The log to write to now; null if there is no session: then it is written from the tables later.
// What was put there before this looks is seen by the session that starts after it.
ThreadLog* log_now() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  ThreadLog* log = current_log();
  if (log != nullptr) write_ranges(*log);
  return log;
}

} // namespace

int push_range(std::uint64_t domain, const Name* name) noexcept {
  ThreadRanges* r = my_ranges();
  if (r == nullptr) return -1;
  int level = 0;
  for (unsigned i = 0; i < r->depth; ++i) level += r->open[i].domain == domain ? 1 : 0;
  if (r->depth == ThreadRanges::kMaxDepth) {
    ++r->beyond;
    return level;
  }
  nvtx_range_was_opened(name);
  r->open[r->depth] = {domain, name};
  // A handler's CUDA call finds the range whole or not at all
  std::atomic_signal_fence(std::memory_order_release);
  ++r->depth;
  return level;
}

int pop_range(std::uint64_t domain) noexcept {
  ThreadRanges* r = thread_ranges;
  if (r == nullptr) return -1;
  if (r->beyond != 0) return static_cast<int>(r->depth + --r->beyond);
  unsigned at = r->depth;
  while (at != 0 && r->open[at - 1].domain != domain) --at;
  if (at == 0) return -1;
  --at;
  nvtx_range_was_closed(r->open[at].name);
  if (at < r->written) r->written = at;
  std::atomic_signal_fence(std::memory_order_release);
  for (unsigned i = at + 1; i < r->depth; ++i)
    r->open[i - 1] = r->open[i]; // domains need not nest in each other
  --r->depth;
  int level = 0;
  for (unsigned i = 0; i < at; ++i) level += r->open[i].domain == domain ? 1 : 0;
  return level;
}

std::uint64_t new_range_id() noexcept {
  return last_range_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

void start_range(std::uint64_t domain, const Name* name, std::uint64_t id) noexcept {
  for (unsigned i = 0; i < kMaxStarted; ++i) {
    std::uint64_t free = 0;
    if (!started_ranges[i].id.compare_exchange_strong(free, kFilling)) continue;
    nvtx_range_was_opened(name);
    started_ranges[i].domain = domain;
    started_ranges[i].name = name;
    started_ranges[i].id.store(id, std::memory_order_release);
    unsigned end = started_end.load();
    while (end <= i && !started_end.compare_exchange_weak(end, i + 1)) {
    }
    break;
  }
  if (ThreadLog* log = log_now()) append(*log, RangeOp::kStart, domain, name, id);
}

void end_range(std::uint64_t domain, std::uint64_t id) noexcept {
  for (unsigned i = 0; i < started_end.load(); ++i) {
    std::uint64_t known = id;
    const Name* const name = started_ranges[i].name; // another's, once the id is 0
    if (id == 0 || !started_ranges[i].id.compare_exchange_strong(known, 0)) continue;
    nvtx_range_was_closed(name);
    break;
  }
  if (ThreadLog* log = log_now()) append(*log, RangeOp::kEnd, domain, nullptr, id);
}

bool thread_is_in_range(std::string_view name) noexcept {
  const ThreadRanges* r = thread_ranges;
  for (unsigned i = 0; r != nullptr && i < r->depth; ++i) {
    if (r->open[i].name != nullptr && r->open[i].name->text() == name) return true;
  }
  for (unsigned i = 0; i < started_end.load(); ++i) {
    const std::uint64_t id = started_ranges[i].id.load(std::memory_order_acquire);
    if (id != 0 && id != kFilling && started_ranges[i].name != nullptr &&
        started_ranges[i].name->text() == name)
      return true;
  }
  return false;
}

void mark(std::uint64_t domain, const Name* name) noexcept {
  if (!Process::is_on()) keep_fact(RangeOp::kMark, domain, name, 0);
  if (ThreadLog* log = log_now()) append(*log, RangeOp::kMark, domain, name, 0);
}

void note_name(RangeOp op, std::uint64_t domain, const Name* name, std::uint64_t what) noexcept {
  keep_fact(op, domain, name, what);
  if (ThreadLog* log = log_now()) append(*log, op, domain, name, what);
}

void write_changed_ranges(ThreadLog& log) noexcept {
  if (facts_epoch.load(std::memory_order_relaxed) != Process::epoch()) write_facts(log);
  ThreadRanges* r = my_ranges();
  if (r == nullptr) return;
  while (r->log != &log || r->file != log.file() || r->logged != r->written ||
         r->written != r->depth) {
    if (r->log != &log || r->file != log.file()) { // another log, or another file of it
      r->log = &log;
      r->file = log.file();
      r->logged = r->written = 0;
      append(log, RangeOp::kThread, 0, nullptr, static_cast<std::uint64_t>(syscall(SYS_gettid)));
    }
    if (r->written < r->logged) append(log, RangeOp::kPop, 0, nullptr, r->logged = r->written);
    while (r->written < r->depth) {
      const OpenRange range = r->open[r->written];
      append(log, RangeOp::kPush, range.domain, range.name, 0);
      r->logged = ++r->written;
    }
  }
}

void forget_ranges_log() noexcept {
  if (thread_ranges != nullptr) thread_ranges->log = nullptr;
}

// When the first NVTX of the process comes.
void begin_ranges() noexcept {
  if (nvtx_in_use.load(std::memory_order_acquire)) return;
  static constinit std::atomic<bool> making{false};
  if (!making.exchange(true)) key_made.store(pthread_key_create(&end_key, on_end_of_ranges) == 0);
  nvtx_in_use.store(true, std::memory_order_release);
}

} // namespace gmt::interposer
