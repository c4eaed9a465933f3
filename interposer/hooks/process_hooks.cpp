// SPDX-License-Identifier: Apache-2.0
// In a vfork child nothing is written to the parent's trace.
#include "interposer/hooks/process_hooks.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "interposer/base/signal_guard.h"
#include "interposer/calls/call.h"
#include "interposer/core_dump/core_dump.h"
#include "interposer/device_ring/drain.h"
#include "interposer/hooks/crash_handler.h"
#include "interposer/hooks/privileged.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

void record_last_words(trace::ExitWay way, int status) noexcept {
  if (!is_recorded_process()) return;
  record_exit(way, static_cast<std::uint64_t>(status & 0xff));
  drain_rings();
}

// The driver's own handler of the end has run, while the program's threads live on and may be in
// the middle of a CUDA call: whatever takes long here lets more of them crash. waits.h has held
// before.
void on_exit_call(int status, void*) noexcept {
  record_last_words(trace::ExitWay::kExit, status);
  if (is_recorded_process()) watch_crashes_at_exit();
}

bool keeps_us(char* const* environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "LD_PRELOAD=", 11) == 0)
      return std::strstr(*environment, "libgpumemtrace") != nullptr;
  }
  return false;
}

} // namespace

void record_end(int status) noexcept {
  if (is_recorded_process()) hold_for_core_dump();
  record_last_words(trace::ExitWay::kUnderscoreExit, status);
}

void report_unhooked(const char* program, char* const* environment, Lookup lookup) noexcept {
  const SignalGuard signals;
  if (!keeps_us(environment)) {
    Process::notify_command("unhooked", program != nullptr ? program : "?");
  } else if (const char* right = privilege_of(program, lookup == Lookup::kPath)) {
    char text[1200];
    std::snprintf(text, sizeof text, "%s %s", right, program);
    Process::notify_command("privileged", text);
  }
}

void report_shell(const char* command) noexcept {
  if (keeps_us(environ)) return;
  const SignalGuard signals;
  Process::notify_command("unhooked", command != nullptr ? command : "?");
}

void before_exec(const char* program, char* const* environment, Lookup lookup) noexcept {
  report_unhooked(program, environment, lookup);
  if (is_recorded_process()) hold_for_core_dump();
  record_last_words(trace::ExitWay::kExec, 0);
}

int exec_failed(int result) noexcept {
  const SignalGuard signals; // keeps errno
  if (is_recorded_process()) record_exit(trace::ExitWay::kExecFailed, 0);
  return result;
}

void watch_process_end() noexcept {
  static bool watching = false; // a forked child inherits the registration
  if (!watching) watching = on_exit(on_exit_call, nullptr) == 0;
}

} // namespace gmt::interposer
