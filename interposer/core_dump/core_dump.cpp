// SPDX-License-Identifier: Apache-2.0
// What the driver was asked for, or why not, is the line `core_dump=` of `info`.
#include "interposer/core_dump/core_dump.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "interposer/base/byte_file.h"
#include "interposer/base/options.h"
#include "interposer/core_dump/device_probe.h"
#include "interposer/core_dump/waits.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

enum class State : unsigned char { kOff, kWanted, kOn };
constinit std::atomic<State> dump_state{State::kOff};

// CUcoredumpSettings and CUCoredumpGenerationFlags of cuda.h.
constexpr int kEnable = 1, kFile = 5, kFlags = 7;
// All parts that hold memory of the program are left out.
constexpr unsigned kSkipped = 0x2f;
// CU_COREDUMP_SKIP_ABORT: the program goes on with CUDA's error behind a dump.
constexpr unsigned kGoesOn = 0x10;
// What a dump of a whole GPU takes, and some more: 127 MB with 270,000 threads on an H200
constexpr std::uint64_t kLargestDump = std::uint64_t{160} << 20;
// From the launch of a faulty kernel to the moment when the GPU stands still: 5 to 27 ms on an H200
constexpr long kUntilStill = 40'000'000;   // nanoseconds
constexpr long kUntilDumped = 250'000'000; // where the GPU cannot be asked

constinit DriverFunction<int*> count_devices{"cuDeviceGetCount"};
constinit DriverFunction<int, void*, std::size_t*> get_setting{"cuCoredumpGetAttributeGlobal"};
constinit DriverFunction<int, void*, std::size_t*> change_setting{"cuCoredumpSetAttributeGlobal"};

void say(const char* word) noexcept {
  char line[64];
  const int n = std::snprintf(line, sizeof line, "core_dump=%s\n", word);
  if (n > 0) Process::append_line("info", line, static_cast<std::size_t>(n));
}

void give_up(const char* word) noexcept {
  dump_state.store(State::kOff);
  say(word);
}

// Without a dump nothing names the faults that the fence causes. The simulated device names its
// faults itself. --guard-sample is for production, where a dump's SIGABRT is not wanted.
bool is_wanted(const Options& options) noexcept {
  return (options.core_dump != 0 || options.guard != 0) && !is_device_simulated();
}

// What --kernel-checks has found is reported by the process itself, as it goes on.
unsigned flags_for(const Options& options) noexcept {
  const bool is_checked = options.kernel_checks != 0 && !has_guard(options);
  return is_checked ? kSkipped | kGoesOn : kSkipped;
}

// The program's own settings in the environment stay as they are.
bool program_asks() noexcept {
  static constexpr const char* kVariables[] = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
                                               "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION",
                                               "CUDA_ENABLE_USER_TRIGGERED_COREDUMP",
                                               "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP",
                                               "CUDA_COREDUMP_GENERATION_FLAGS",
                                               "CUDA_COREDUMP_FILE",
                                               "CUDA_COREDUMP_PIPE"};
  char value[1024];
  for (const char* name : kVariables) {
    if (initial_environment(name, value, sizeof value)) return true;
  }
  return false;
}

// The debugger gets the exception then.
bool is_debugged() noexcept {
  static constexpr char kKey[] = "TracerPid:";
  ByteFile status("/proc/self/status");
  std::size_t matched = 0;
  for (int c = status.next(); c >= 0; c = status.next()) {
    if (matched < sizeof kKey - 1) {
      const bool fits = c == kKey[matched];
      matched = fits ? matched + 1 : 0;
    } else if (c >= '1' && c <= '9') {
      return true;
    } else if (c == '\n') {
      return false;
    }
  }
  return false;
}

void sleep_for(long nanoseconds) noexcept {
  const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(nanoseconds);
  for (std::uint64_t at = monotonic_ns(); at < until; at = monotonic_ns()) {
    const timespec rest{0, static_cast<long>(until - at)};
    nanosleep(&rest, nullptr);
  }
}

template <class Value> int change(int setting, Value* value, std::size_t size) noexcept {
  return change_setting(setting, value, &size);
}

// A driver that does not know the flags would write all of the GPU's memory. One that is not
// initialized crashes when it is asked for a setting (measured on an H200, driver 580), so another
// function says whether it is.
void ask_driver() noexcept {
  int devices = 0;
  if (count_devices(&devices) != 0) return; // later, before a context is made
  unsigned flags = 0;
  std::size_t size = sizeof flags;
  if (get_setting(kFlags, &flags, &size) != 0)
    return give_up(get_setting.is_there() ? "unknown-flags" : "no-function");
  bool enabled = false;
  size = sizeof enabled;
  if (get_setting(kEnable, &enabled, &size) == 0 && enabled) return give_up("program");
  char path[1024];
  flags = flags_for(Process::options());
  enabled = true;
  const bool fits = Process::path_of("gpu-core.%p", path, sizeof path);
  const bool done = fits && change(kFlags, &flags, sizeof flags) == 0 &&
                    change(kFile, path, std::strlen(path) + 1) == 0 &&
                    change(kEnable, &enabled, sizeof enabled) == 0;
  if (!done) return give_up("refused");
  dump_state.store(State::kOn);
  say("on");
}

} // namespace

void begin_core_dump() noexcept {
  if (!is_wanted(Process::options())) return;
  if (program_asks()) return give_up("program");
  if (is_debugged()) return give_up("debugger");
  if (!Process::take_budget(kLargestDump, 2)) return give_up("no-room");
  install_dump_waits();
  dump_state.store(State::kWanted);
  ask_driver();
}

void prepare_core_dump() noexcept {
  if (dump_state.load(std::memory_order_relaxed) == State::kWanted) [[unlikely]]
    ask_driver();
}

bool core_dump_is_on() noexcept { return dump_state.load(std::memory_order_relaxed) == State::kOn; }

void hold_for_core_dump() noexcept {
  if (!core_dump_is_on() || !take_unconfirmed_work()) return;
  sleep_for(kUntilStill);
  if (!wait_for_device_probe()) sleep_for(kUntilDumped - kUntilStill);
}

void forget_core_dump() noexcept {
  dump_state.store(State::kOff);
  forget_unconfirmed_work();
  forget_device_probes();
}

} // namespace gmt::interposer
