// SPDX-License-Identifier: Apache-2.0
// The slow half of ThreadLog: making the file, growing it, counting what is lost. See thread_log.h.
#include "interposer/log/thread_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/signal_guard.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr std::uint64_t kFirstBytes = 64 << 10; // most threads never need more
// A step costs some hundred microseconds: rare enough, small enough. The larger, the less a MiB
// costs: 267 us in steps of 1 MiB, 202 in steps of 4 (ext4, a Xeon).
constexpr std::uint64_t kMaxStepBytes = 4 << 20;
constexpr std::uint64_t kSmallestWindow = 1 << 20;
// Smaller ones for `ulimit -v`
constexpr std::uint64_t kWindowBytes[] = {256 << 20, 16 << 20, kSmallestWindow};

constexpr std::uint32_t kRestAfterFailure = 255;

// Why a log cannot be had, or have more room, stands in errno.
bool fail(int error) noexcept {
  errno = error;
  return false;
}

// SIGXFSZ would end the program: stay below the limit instead.
bool within_file_size_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

// Address space is free unless `ulimit -v` rations it: then the program needs it more than we do.
std::uint64_t largest_window() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kWindowBytes[0];
  return limit.rlim_cur / 64;
}

} // namespace

ThreadLog* ThreadLog::create(std::uint32_t sequence) noexcept {
  return create(sequence, Purpose::kThread);
}
ThreadLog* ThreadLog::create_for_ring(std::uint32_t number) noexcept {
  return create(number, Purpose::kRing);
}
ThreadLog* ThreadLog::create_for_sums(std::uint32_t number) noexcept {
  return create(number, Purpose::kSums);
}

void ThreadLog::end(ThreadLog* log) noexcept {
  munmap(log->header_, trace::kLogHeaderBytes + std::uint64_t{log->window_} * trace::kSlotBytes);
  munmap(log, sizeof(ThreadLog));
}

ThreadLog* ThreadLog::create(std::uint32_t sequence, Purpose purpose) noexcept {
  void* memory =
    mmap(nullptr, sizeof(ThreadLog), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* log = new (memory) ThreadLog;
  log->sequence_ = sequence;
  log->purpose_ = purpose;
  if (log->open_file()) return log;
  munmap(memory, sizeof(ThreadLog));
  return nullptr;
}

bool ThreadLog::open_file() noexcept {
  char name[64];
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  if (purpose_ == Purpose::kThread) {
    std::snprintf(name, sizeof name, "t%u-%u.%u.log", tid, sequence_, file_);
  } else if (purpose_ == Purpose::kSums) {
    std::snprintf(name, sizeof name, "access-%u.log", sequence_);
  } else if (file_ == 0) {
    std::snprintf(name, sizeof name, "device-%u.log", sequence_);
  } else {
    std::snprintf(name, sizeof name, "device-%u.%u.log", sequence_, file_);
  }
  if (!Process::path_of(name, path_, sizeof path_)) return false;
  if (!within_file_size_limit(kFirstBytes)) return fail(EFBIG);
  if (!Process::take_budget(kFirstBytes, true)) return fail(EDQUOT);
  std::snprintf(unfinished_, sizeof unfinished_, "%s.new", path_);
  const int fd = open(unfinished_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    Process::return_budget(kFirstBytes);
    return fail(ENOSPC);
  }
  void* map = MAP_FAILED;
  if (posix_fallocate(fd, 0, static_cast<off_t>(kFirstBytes)) == 0) {
    const std::uint64_t most = largest_window();
    for (const std::uint64_t bytes : kWindowBytes) {
      if (bytes > most && bytes != kSmallestWindow) continue;
      map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (map == MAP_FAILED) continue;
      window_ = static_cast<std::uint32_t>((bytes - trace::kLogHeaderBytes) / trace::kSlotBytes);
      break;
    }
  }
  close(fd);
  if (map == MAP_FAILED || !begin_header(static_cast<trace::LogHeader*>(map), tid)) {
    unlink(unfinished_);
    Process::return_budget(kFirstBytes);
    return fail(ENOSPC);
  }
  header_ = static_cast<trace::LogHeader*>(map);
  base_ = reinterpret_cast<trace::Slot*>(static_cast<char*>(map) + trace::kLogHeaderBytes);
  capacity_ =
    static_cast<std::uint32_t>((kFirstBytes - trace::kLogHeaderBytes) / trace::kSlotBytes);
  ++file_;
  return true;
}

// The file gets its own name last: a reader that sees a log sees its header, whatever moment the
// process is killed at.
bool ThreadLog::begin_header(trace::LogHeader* header, std::uint32_t tid) noexcept {
  std::memcpy(header->magic, trace::kLogMagic, sizeof header->magic);
  header->major = trace::kFormatMajor;
  header->minor = trace::kFormatMinor;
  header->pid = static_cast<std::uint32_t>(Process::pid());
  header->tid = tid;
  header->tsc = read_tsc();
  header->monotonic_ns = monotonic_ns();
  return rename(unfinished_, path_) == 0;
}

// Called with `index` beyond the capacity. The slots before `index` stay as they are; the ones
// asked for are either made real or given back.
trace::Slot* ThreadLog::grow(std::uint32_t index, unsigned slots, bool droppable) noexcept {
  const SignalGuard signals;
  if (index + slots <= capacity_)
    return base_ + index; // a handler of this thread grew it meanwhile
  if (rest_ != 0) {       // it failed a moment ago, and each try costs system calls
    --rest_;
    next_ = index;
    return count_loss(trace::LossCause::kNoSpace);
  }
  const bool grown =
    index + slots <= window_ ? extend_to(index + slots, droppable) : rotate(droppable);
  if (!grown) {
    next_ = index; // signals are blocked: no handler came in between
    const bool limit = errno == EDQUOT;
    if (!limit) rest_ = kRestAfterFailure;
    refuse_droppable_ = refuse_droppable_ || (limit && droppable);
    return count_loss(limit ? trace::LossCause::kTraceLimit : trace::LossCause::kNoSpace);
  }
  if (index + slots > capacity_ || index >= window_)
    return reserve(slots, droppable); // rotated: index is the old file's
  return base_ + index;
}

// A trace that is full, or a file that cannot grow, is found so by the records themselves.
void ThreadLog::grow_ahead(std::uint32_t slots) noexcept {
  if (refuse_droppable_ || rest_ != 0) return;
  const SignalGuard signals;
  if (slots > window_) slots = window_;
  if (slots > capacity_) extend_to(slots, true);
}

// Brings a new part of the file into memory and into the mapping. Zeros are written over the zeros
// there: written in bulk they make large pages, which are mapped as such, where the mapping alone
// has a fault every 64 records, each with the file system's work for one small page (four times as
// long on ext4). Either may fail: the faults come later then.
void ThreadLog::make_resident(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  static constinit char zeros[1 << 20] = {}; // a page of zeros in truth: it is never written
  for (std::uint64_t done = 0; done < bytes; done += sizeof zeros) {
    const std::uint64_t rest = bytes - done;
    if (pwrite(fd, zeros, rest < sizeof zeros ? rest : sizeof zeros,
               static_cast<off_t>(offset + done)) < 0)
      break;
  }
#ifdef MADV_POPULATE_WRITE // kernels before 5.14 do without
  madvise(reinterpret_cast<char*>(header_) + offset, bytes, MADV_POPULATE_WRITE);
#endif
}

// Leaves the cause in errno: EDQUOT for the trace's own limit.
bool ThreadLog::extend_to(std::uint32_t slots, bool droppable) noexcept {
  const std::uint64_t now = trace::kLogHeaderBytes + std::uint64_t{capacity_} * trace::kSlotBytes;
  const std::uint64_t need = trace::kLogHeaderBytes + std::uint64_t{slots} * trace::kSlotBytes;
  const std::uint64_t most = trace::kLogHeaderBytes + std::uint64_t{window_} * trace::kSlotBytes;
  std::uint64_t want = now + (now < kMaxStepBytes ? now : kMaxStepBytes);
  if (want < need) want = need;
  if (want > most) want = most;
  if (!within_file_size_limit(want)) {
    if (!within_file_size_limit(need)) return fail(EFBIG);
    want = need;
  }
  if (!Process::take_budget(want - now, false)) {
    if (!droppable) refuse_droppable_ = true; // what is left is not for launches and copies
    if (droppable || !Process::take_budget(want - now, true)) {
      want = need;
      if (!Process::take_budget(want - now, !droppable)) return fail(EDQUOT);
    }
  }
  const int fd = open(path_, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    Process::return_budget(want - now);
    return fail(ENOSPC);
  }
  int error = posix_fallocate(fd, static_cast<off_t>(now), static_cast<off_t>(want - now));
  if (error != 0 && want != need) {
    Process::return_budget(want - need);
    want = need;
    error = posix_fallocate(fd, static_cast<off_t>(now), static_cast<off_t>(want - now));
  }
  if (error != 0) {
    close(fd);
    Process::return_budget(want - now);
    return fail(ENOSPC);
  }
  make_resident(fd, now, want - now);
  close(fd);
  capacity_ = static_cast<std::uint32_t>((want - trace::kLogHeaderBytes) / trace::kSlotBytes);
  return true;
}

// The window is full: begin another file. The old mapping stays, calls in flight still patch their
// slots there.
bool ThreadLog::rotate(bool droppable) noexcept {
  if (purpose_ == Purpose::kSums) return fail(ENOSPC); // its records name each other
  if (!Process::take_budget(0, !droppable)) return fail(EDQUOT);
  if (!open_file()) return false;
  stacks_.clear(); // ids are per file, as numbers of arguments are
  kept_arguments_.clear();
  next_ = 0;
  if (purpose_ == Purpose::kThread) write_thread();
  return true;
}

void ThreadLog::begin_thread(std::uint32_t number) noexcept {
  thread_ = number;
  write_thread();
}

// An order of its own: what was written here before comes before it, what follows comes behind.
void ThreadLog::write_thread() noexcept {
  Record record;
  record.kind = trace::Kind::kThread;
  record.use(trace::kFirstPayloadWords);
  trace::ThreadFields(record).id(static_cast<std::uint64_t>(syscall(SYS_gettid))).number(thread_);
  append(record, trace::kNoApi);
}

void ThreadLog::fill_more(trace::Slot* slot, const std::uint64_t* words, unsigned count) noexcept {
  auto* more = reinterpret_cast<trace::MoreSlot*>(slot + 1);
  for (unsigned done = trace::kFirstPayloadWords; done < count;
       done += trace::kMorePayloadWords, ++more) {
    const unsigned rest = count - done;
    const unsigned n = rest < trace::kMorePayloadWords ? rest : trace::kMorePayloadWords;
    std::memset(more->payload, 0, sizeof more->payload);
    // Atomic, so that no compiler makes a call of memcpy of it: these are a few words.
    for (unsigned i = 0; i < n; ++i)
      __atomic_store_n(&more->payload[i], words[done + i], __ATOMIC_RELAXED);
    __atomic_store_n(&more->head, trace::pack({trace::Kind::kMore, 1, trace::kNoApi, 0, 0}),
                     __ATOMIC_RELEASE);
  }
}

void ThreadLog::abandon(trace::Slot* slot, unsigned slots) noexcept {
  commit(slot, trace::pack(
                 {trace::Kind::kAbandoned, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0}));
}

void ThreadLog::append(const Record& record, std::uint16_t api) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  trace::Slot* slot = reserve(slots, false);
  if (slot == nullptr) return;
  slot->order = Process::next_order();
  slot->time = read_tsc();
  slot->stack = 0;
  slot->context = 0;
  slot->via = trace::kNoApi;
  fill(slot, record);
  commit(slot, trace::pack({record.kind, static_cast<std::uint8_t>(slots), api, record.flags, 0}));
}

trace::Slot* ThreadLog::append_words(trace::Kind kind, const std::uint64_t* words, unsigned count,
                                     std::uint16_t context, bool droppable) noexcept {
  const unsigned slots = trace::slots_for(count);
  trace::Slot* slot = reserve(slots, droppable);
  if (slot == nullptr) return nullptr;
  slot->order = Process::current_order();
  slot->time = read_tsc();
  slot->stack = 0;
  slot->context = context;
  slot->via = trace::kNoApi;
  for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i) slot->a[i] = i < count ? words[i] : 0;
  if (count > trace::kFirstPayloadWords) fill_more(slot, words, count);
  commit(slot, trace::pack({kind, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0}));
  return slot;
}

trace::Slot* ThreadLog::count_loss(trace::LossCause cause) noexcept {
  __atomic_fetch_add(&header_->lost[static_cast<unsigned>(cause)], 1, __ATOMIC_RELAXED);
  return nullptr;
}

} // namespace gmt::interposer
