// SPDX-License-Identifier: Apache-2.0
// The process's session: started by its first CUDA call, which makes the trace's folder; ended by
// nothing but the process. A fork's child has no session until its own first CUDA call.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/base/options.h"

namespace gmt::interposer {

class ThreadLog;

inline std::uint64_t read_tsc() noexcept { return __builtin_ia32_rdtsc(); }
std::uint64_t monotonic_ns() noexcept;

class Process {
public:
  // Fast checks. The page behind `fork_page_` holds the session's epoch, or kOff, and is wiped in a
  // forked child, which is how it notices.
  static bool is_on() noexcept { return !is_current(kOff); }
  static bool is_current(std::uint32_t epoch) noexcept {
    return fork_page_.load(std::memory_order_acquire)->load(std::memory_order_acquire) == epoch;
  }

  // Slow path: starts the session if there is none, leases a log to this thread. Null if recording
  // is impossible. `number` is the thread's in the session `epoch`: a thread that comes back after
  // its log was taken away keeps it.
  static ThreadLog* enter_thread(std::uint32_t& epoch, std::uint32_t& number) noexcept;

  static std::uint64_t next_order() noexcept { return next_orders(1); }
  static std::uint64_t next_orders(unsigned count) noexcept { // the first of them
    return order_.last.fetch_add(count, std::memory_order_relaxed) + 1;
  }
  // The counter's line comes while the caller does something else: other threads have it most of
  // the time.
  static void expect_order() noexcept { asm volatile("prefetchw %0" : : "m"(order_)); }
  static std::uint64_t current_order() noexcept {
    return order_.last.load(std::memory_order_relaxed);
  }
  static const Options& options() noexcept { return options_; }

  // Path of a file of the trace into `buffer`; false if it does not fit.
  static bool path_of(const char* file, char* buffer, std::size_t size) noexcept;
  // Appends a line to a text file of the trace.
  static void append_line(const char* file, const char* line, std::size_t length) noexcept;
  // Appends "<word>\t<pid>\t<text>" to the command's notes, if a command started this process.
  [[gnu::noinline]] static void notify_command(const char* word, const char* text) noexcept;

  // Takes `bytes` of the trace's size budget, of which so many sixteenths are kept for others.
  static bool take_budget(std::uint64_t bytes, unsigned kept_sixteenths) noexcept;
  static void return_budget(std::uint64_t bytes) noexcept { budget_used_.fetch_sub(bytes); }
  // Adds to the budget what packing has saved meanwhile; how many bytes it was in all.
  static std::uint64_t credit_packed_logs() noexcept;
  static int pid() noexcept { return pid_; }
  static std::uint32_t epoch() noexcept { return epoch_.load(); }

private:
  static constexpr std::uint32_t kOff = 0; // no epoch
  // All threads write it at every call: what they only read does not lie on the same cache line.
  struct alignas(64) Order {
    std::atomic<std::uint64_t> last;
  };

  [[gnu::noinline]] static ThreadLog* lease_log(std::uint32_t& epoch,
                                                std::uint32_t& number) noexcept;
  [[gnu::noinline]] static bool start() noexcept;
  static bool make_directory() noexcept;
  static bool make_directory_under(const char* parent) noexcept;
  static bool write_info() noexcept;
  static bool write_names() noexcept;
  static bool map_fork_page() noexcept;

  static std::atomic<std::atomic<std::uint32_t>*> fork_page_;
  static std::atomic<std::uint32_t> epoch_;
  static Order order_;
  static std::atomic<std::uint64_t> budget_used_;
  static std::atomic<std::uint64_t> budget_credited_; // of it, taken off as saved by packing
  static Options options_;
  static char directory_[4096];
  static int pid_, forked_from_; // the process that had a session before the fork; 0: none
};

// Not in a child that came up by fork, vfork or clone and has no trace of its own yet.
bool is_recorded_process() noexcept;

// What the session consists of beside its logs. The table stands where the parts are known.
struct SessionPart {
  void (*forget)() noexcept; // a forked child makes its own trace; null: nothing to forget
  void (*begin)() noexcept;  // once the trace's folder is there; null: nothing to begin
};
struct SessionParts {
  const SessionPart* first;
  unsigned count;
};
extern const SessionParts session_parts;

} // namespace gmt::interposer
