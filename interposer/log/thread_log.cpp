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

#include "interposer/base/log_file.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr std::uint64_t kFirstBytes = 64 << 10; // most threads never need more
constexpr std::uint64_t kLeastStepBytes = 4096; // less is not worth its system calls
// Calls in flight complete their records here; what lies before costs the program memory
constexpr std::uint64_t kKeptBytes = 256 << 10;
constexpr std::uint64_t kSmallestWindow = 1 << 20;
// Smaller ones for `ulimit -v`
constexpr std::uint64_t kWindowBytes[] = {256 << 20, 16 << 20, kSmallestWindow};

constexpr std::uint32_t kLongestRestOfLog = 1 << 20;

// Why a log cannot be had, or have more room, stands in errno.
bool fail(int error) noexcept {
  errno = error;
  return false;
}

// Of the trace's size, what is kept from records that are not refused: launches and copies leave an
// eighth to all others, and those a sixteenth to releases. A file that grows for one serves all.
unsigned kept_sixteenths(ThreadLog::Worth refused) noexcept {
  if (refused < ThreadLog::Worth::kDroppable) return 2;
  return refused < ThreadLog::Worth::kAllocation ? 1 : 0;
}

// Address space is free unless `ulimit -v` rations it: then the program needs it more than we do.
// Files are an eighth of the whole trace at most: they are packed when the log has left them.
std::uint64_t largest_window() noexcept {
  const std::uint64_t share = Process::options().max_trace / 8;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return share;
  return limit.rlim_cur / 64 < share ? limit.rlim_cur / 64 : share;
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
  if (log->left_ != nullptr) munmap(log->left_, log->left_bytes_);
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
  if (!Process::take_budget(kFirstBytes, 0)) return fail(EDQUOT);
  std::snprintf(unfinished_, sizeof unfinished_, "%s.new", path_);
  const int fd = open(unfinished_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  int error = fd < 0 ? system_error(errno) : make_room(fd, 0, kFirstBytes);
  void* map = MAP_FAILED;
  std::uint64_t window = 0;
  if (error == 0) {
    const std::uint64_t most = largest_window();
    for (const std::uint64_t bytes : kWindowBytes) {
      if (bytes > most && bytes != kSmallestWindow) continue;
      map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (map == MAP_FAILED) continue;
      window = bytes;
      break;
    }
    if (map == MAP_FAILED || !begin_header(static_cast<trace::LogHeader*>(map), tid))
      error = system_error(errno);
  }
  if (fd >= 0) close(fd);
  if (error != 0) {
    if (map != MAP_FAILED) munmap(map, window);
    if (fd >= 0) unlink(unfinished_);
    Process::return_budget(kFirstBytes);
    return fail(error);
  }
  if (header_ != nullptr) leave_file();
  given_back_ = 0;
  header_ = static_cast<trace::LogHeader*>(map);
  window_ = static_cast<std::uint32_t>((window - trace::kLogHeaderBytes) / trace::kSlotBytes);
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
trace::Slot* ThreadLog::grow(std::uint32_t index, unsigned slots, Worth worth) noexcept {
  // It failed a moment ago, and each try costs system calls
  if (rest_ != 0 && index + slots > capacity_) return refuse(index, slots, worth);
  const SignalGuard signals;
  if (index + slots <= capacity_)
    return base_ + index; // a handler of this thread grew it meanwhile
  const bool grown = index + slots <= window_ ? extend_to(index + slots, worth) : rotate(worth);
  if (!grown) {
    next_ = index; // signals are blocked: no handler came in between
    refused_for_ = cause_of(errno);
    // Of the trace's limit, what is left is for records that are worth more
    if (refused_for_ == trace::LossCause::kTraceLimit && worth != Worth::kRelease) {
      if (worth > refused_) refuse_up_to(worth);
    } else {
      rest_ = next_rest_;
      if (next_rest_ < kLongestRestOfLog) next_rest_ *= 2;
    }
    return count_loss(refused_for_, worth);
  }
  next_rest_ = kFirstRest;
  if (index + slots > capacity_ || index >= window_)
    return reserve(slots, worth); // rotated: index is the old file's
  return base_ + index;
}

// A handler of this thread may have taken the slots behind these meanwhile: then these stay torn.
trace::Slot* ThreadLog::refuse(std::uint32_t index, unsigned slots, Worth worth) noexcept {
  --rest_;
  std::uint32_t behind = index + slots;
  __atomic_compare_exchange_n(&next_, &behind, index, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return count_loss(refused_for_, worth);
}

// A trace that is full, or a file that cannot grow, is found so by the records themselves.
void ThreadLog::grow_ahead(std::uint32_t slots) noexcept {
  if (refused_ != Worth::kNothing || rest_ != 0 || step_ < kMaxStepBytes) return;
  const SignalGuard signals;
  if (slots > window_) slots = window_;
  if (slots > capacity_)
    extend_between(bytes_to(slots), bytes_to(window_), kept_sixteenths(refused_));
}

// Brings a new part of the file into memory and into the mapping. Zeros are written over the zeros
// there: written in bulk they make large pages, which are mapped as such, where the mapping alone
// has a fault every 64 records, each with the file system's work for one small page (four times as
// long on ext4). False if the file system had no room after all; the mapping may fail, and the
// faults come later then.
bool ThreadLog::make_resident(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const int error = write_zeros(fd, offset, bytes);
#ifdef MADV_POPULATE_WRITE // kernels before 5.14 do without
  if (error == 0) madvise(reinterpret_cast<char*>(header_) + offset, bytes, MADV_POPULATE_WRITE);
#endif
  return error != ENOSPC && error != EDQUOT;
}

// Pages that are full cost the program no memory any more; the file has them. A call in flight that
// completes its record there gets its page back.
void ThreadLog::give_back(std::uint64_t end) noexcept {
  constexpr std::uint64_t kPage = 4096;
  if (end < kKeptBytes + kPage) return;
  end = (end - kKeptBytes) & ~(kPage - 1);
  if (given_back_ < kPage) given_back_ = kPage; // the header is written at every loss
  if (end <= given_back_) return;
  madvise(reinterpret_cast<char*>(header_) + given_back_, end - given_back_, MADV_DONTNEED);
  given_back_ = end;
}

// Leaves the cause in errno: EDQUOT for the trace's own limit. There, what is left goes to records
// that are worth more, step by step.
bool ThreadLog::extend_to(std::uint32_t slots, Worth worth) noexcept {
  for (;;) {
    if (extend_between(bytes_to(slots), bytes_to(window_), kept_sixteenths(refused_))) return true;
    if (errno != EDQUOT || refused_ >= Worth::kAllocation) return false;
    refuse_up_to(refused_ < Worth::kDroppable ? Worth::kDroppable : Worth::kAllocation);
    if (worth <= refused_) return fail(EDQUOT);
  }
}

// A file system that has no room for a large step may have some for a smaller one.
bool ThreadLog::extend_between(std::uint64_t need, std::uint64_t most, unsigned kept) noexcept {
  const std::uint64_t now = file_bytes();
  const std::uint64_t least =
    need > kLeastStepBytes || most < kLeastStepBytes ? need : kLeastStepBytes;
  std::uint64_t step = now < step_ ? now : step_;
  for (;;) {
    if (step < least) step = least;
    if (step > most) step = most;
    if (extend_by(step, kept)) break;
    if (step <= least || errno == EMFILE || errno == ENFILE) return false;
    step /= 2;
    if (errno != EDQUOT) step_ = step;
  }
  give_back(now);
  if (step == step_ && step_ < kMaxStepBytes) step_ *= 2; // there is room again
  return true;
}

bool ThreadLog::extend_by(std::uint64_t bytes, unsigned kept) noexcept {
  const std::uint64_t now = file_bytes();
  if (!within_file_size_limit(now + bytes)) return fail(EFBIG);
  if (!Process::take_budget(bytes, kept)) return fail(EDQUOT);
  const int fd = open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  int error = fd < 0 ? system_error(errno) : make_room(fd, now, bytes);
  if (error == 0 && !make_resident(fd, now, bytes)) error = ENOSPC;
  if (fd >= 0) close(fd);
  if (error != 0) {
    Process::return_budget(bytes);
    return fail(error);
  }
  capacity_ += static_cast<std::uint32_t>(bytes / trace::kSlotBytes);
  return true;
}

// The window is full: begin another file. The old mapping stays for one file more, calls in flight
// still patch their slots there.
bool ThreadLog::rotate(Worth worth) noexcept {
  if (purpose_ == Purpose::kSums) return fail(ENOSPC); // its records name each other
  if (worth <= refused_ || !Process::take_budget(0, kept_sixteenths(refused_))) return fail(EDQUOT);
  int error = 0; // errno is the program's again behind with_room()
  with_room([&](bool) noexcept { error = open_file() ? 0 : errno; });
  if (error != 0) return fail(error);
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

trace::Slot* ThreadLog::count_loss(trace::LossCause cause, Worth worth) noexcept {
  __atomic_fetch_add(&header_->lost[static_cast<unsigned>(cause)], 1, __ATOMIC_RELAXED);
  if (worth < Worth::kAllocation) return nullptr;
  std::uint64_t& from =
    worth == Worth::kAllocation ? header_->allocations_lost_from : header_->releases_lost_from;
  if (from == 0) from = Process::current_order() + 1;
  return nullptr;
}

} // namespace gmt::interposer
