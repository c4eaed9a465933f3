// SPDX-License-Identifier: Apache-2.0
// The handler writes one line to the trace's `info` and leaves the rest to the system: the
// disposition is the default one again when it begins, so that the instruction faults once more as
// it returns, with the same address, status and core dump as without it. It runs on the thread's
// own signal stack if there is one; where its frame does not fit, the kernel ends the process as it
// would have anyway. It takes no lock and calls nothing but system calls.
#include "interposer/hooks/crash_handler.h"

#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "interposer/base/readable.h"
#include "interposer/calls/call.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/process.h"

namespace gmt::interposer {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
// Behind the process's last words, which a crash proves wrong
constexpr int kSignalsOfExit[] = {SIGABRT, SIGILL, SIGFPE, SIGTRAP};
constinit char info_path[4200] = {};
constinit bool is_watching = false;

// A line of `info`: words of hexadecimal digits.
class Line {
public:
  void text(const char* words) noexcept {
    for (; *words != '\0'; ++words) add(*words);
  }
  void number(std::uint64_t value) noexcept {
    text(" 0x");
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = static_cast<unsigned>(value >> shift & 0xf);
      add(static_cast<char>(digit < 10 ? '0' + digit : 'a' + (digit - 10)));
    }
  }
  void write_to(const char* path) const noexcept {
    const long fd =
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0) return;
    (void)syscall(SYS_write, fd, line_, size_);
    (void)syscall(SYS_close, fd);
  }

private:
  void add(char c) noexcept {
    if (size_ < sizeof line_) line_[size_++] = c;
  }
  char line_[160];
  std::size_t size_ = 0;
};

const char* name_of(int number) noexcept {
  switch (number) {
  case SIGSEGV: return "SIGSEGV";
  case SIGBUS: return "SIGBUS";
  case SIGABRT: return "SIGABRT";
  case SIGILL: return "SIGILL";
  case SIGFPE: return "SIGFPE";
  default: return "SIGTRAP";
  }
}

// Where no access of the host's own code did it: the signal alone.
void note_signal(int number) noexcept {
  if (!is_recorded_process() || info_path[0] == '\0') return;
  Line line;
  line.text("crash=");
  line.text(name_of(number));
  line.text("\n");
  line.write_to(info_path);
}

void on_crash(int number, siginfo_t* info, void* context) noexcept {
  // A program may have put this function back by signal(), without the flags.
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  (void)sigaction(number, &plain, nullptr);
  if (info->si_code <= 0) { // sent: it does not come again by itself
    note_signal(number);
    (void)syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);
    return;
  }
  const bool is_access = number == SIGSEGV || number == SIGBUS;
  if (!is_access || info->si_code == SI_KERNEL) return note_signal(number);
  if (!is_recorded_process() || info_path[0] == '\0') return;
  const auto* machine = static_cast<const ucontext_t*>(context);
  const auto& registers = machine->uc_mcontext.gregs;
  const auto instruction = static_cast<std::uint64_t>(registers[REG_RIP]);
  const auto stack = static_cast<std::uint64_t>(registers[REG_RSP]);
  const std::uint64_t returns_to = word_at(stack); // of a function without a frame of its own
  // What a call does in there, or a thread of the driver's, is no access of the host's own code
  if (is_inside_call(reinterpret_cast<const void*>(stack)) || is_drivers_code(instruction) ||
      is_drivers_code(returns_to))
    return note_signal(number);
  constexpr std::uint64_t kWrite = 2; // of a page fault's error code
  Line line;
  line.text("crash=");
  line.text(name_of(number));
  line.number(reinterpret_cast<std::uintptr_t>(info->si_addr));
  line.number(instruction);
  line.number(returns_to);
  line.text((static_cast<std::uint64_t>(registers[REG_ERR]) & kWrite) != 0 ? " write\n"
                                                                           : " read\n");
  line.write_to(info_path);
}

void watch(std::span<const int> numbers) noexcept {
  for (const int number : numbers) {
    struct sigaction now = {}, ours = {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    const bool is_default = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
    if (!is_default) continue;
    ours.sa_sigaction = on_crash;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    sigemptyset(&ours.sa_mask);
    (void)sigaction(number, &ours, nullptr);
  }
}

} // namespace

void watch_crashes() noexcept {
  if (!Process::path_of("info", info_path, sizeof info_path)) {
    info_path[0] = '\0';
    return;
  }
  if (is_watching) return; // a forked child: the handler came with it
  is_watching = true;
  watch(kSignals);
}

void watch_crashes_at_exit() noexcept { watch(kSignalsOfExit); }

bool is_crash_handler(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_crash;
}

void forget_crashes() noexcept { info_path[0] = '\0'; }

} // namespace gmt::interposer
