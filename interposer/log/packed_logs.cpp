// SPDX-License-Identifier: Apache-2.0
// The command packs files that logs have left (trace/FORMAT.md, "Packed logs"), and says in a file
// of the trace how many bytes that has saved: the trace may grow by as much again. See process.h
// and thread_log.h.
#include <algorithm>
#include <sys/mman.h>

#include "interposer/base/byte_file.h"
#include "interposer/base/signal_guard.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {
namespace {

// What stands in the file; 0 without one.
std::uint64_t bytes_saved_by_packing(const char* path) noexcept {
  ByteFile file(path);
  std::uint64_t bytes = 0;
  for (int c = file.next(); c >= '0' && c <= '9'; c = file.next())
    bytes = bytes * 10 + static_cast<std::uint64_t>(c - '0');
  return bytes;
}

} // namespace

std::uint64_t Process::credit_packed_logs() noexcept {
  char path[4200];
  if (!path_of("packed", path, sizeof path)) return budget_credited_.load();
  const std::uint64_t saved = bytes_saved_by_packing(path);
  std::uint64_t credited = budget_credited_.load();
  while (credited < saved) {
    if (!budget_credited_.compare_exchange_weak(credited, saved)) continue;
    budget_used_.fetch_sub(std::min(saved - credited, budget_used_.load()));
    return saved;
  }
  return credited;
}

void ThreadLog::refuse_up_to(Worth worth) noexcept {
  refused_ = worth;
  refusals_ = 0;
  credit_refused_ = Process::credit_packed_logs();
}

// Each look reads a file, so there are few.
bool ThreadLog::has_room_again() noexcept {
  constexpr std::uint32_t kRefusalsBetweenLooks = 1024;
  if (++refusals_ % kRefusalsBetweenLooks != 0) return false;
  const SignalGuard signals;
  if (Process::credit_packed_logs() == credit_refused_) return false;
  refused_ = Worth::kNothing;
  return true;
}

// The command may pack the file before the one that is left now. It must not stay mapped: its bytes
// would stay on the disk. Nothing completes its record there any more, and would do no harm.
void ThreadLog::leave_file() noexcept {
  give_back(file_bytes());
  if (left_ != nullptr) {
    mmap(left_, left_bytes_, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  left_ = header_;
  left_bytes_ = trace::kLogHeaderBytes + std::uint64_t{window_} * trace::kSlotBytes;
}

} // namespace gmt::interposer
