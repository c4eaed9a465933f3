// SPDX-License-Identifier: Apache-2.0
// fork, exec, and the loop that waits; see child_process.h.
// All signals that can be passed on are blocked and taken one by one with sigwaitinfo(): no handler
// runs, and the sender is known. The program gets the mask and the dispositions that the command
// itself was started with.
//
// timeout(1) signals its child and then its process group, so that a signal that has ended the
// program comes to the command twice: the second one must not end the report.

#include "analyzer/command/run/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace gmt {

namespace {

// Everything but what cannot be blocked and what reports a fault of this process itself.
sigset_t passed_on() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPIPE, SIGXCPU, SIGXFSZ})
    sigdelset(&set, fault);
  return set;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& s : strings) result.push_back(const_cast<char*>(s.c_str()));
  result.push_back(nullptr);
  return result;
}

bool is_elf(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char magic[4] = {};
  const bool elf =
    file >= 0 && ::read(file, magic, 4) == 4 && std::memcmp(magic, "\177ELF", 4) == 0;
  if (file >= 0) ::close(file);
  return elf;
}

// In the child: becomes the program, or sends the parent the errno.
[[noreturn]] void become(const LaunchPlan& plan, bool elf, const sigset_t& mask,
                         const struct sigaction& child_action, int errors) {
  const std::vector<char*> arguments = pointers(plan.arguments);
  const std::vector<char*> environment = pointers(plan.environment);
  ::sigaction(SIGCHLD, &child_action, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execve(plan.path.c_str(), arguments.data(), environment.data());
  if (errno == ENOEXEC && !elf) { // a script without #!: shells and execvp() hand it to sh
    std::vector<char*> shell = {const_cast<char*>("/bin/sh"), const_cast<char*>(plan.path.c_str())};
    shell.insert(shell.end(), arguments.begin() + 1, arguments.end());
    ::execve("/bin/sh", shell.data(), environment.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(errors, &error, sizeof error);
  ::_exit(127);
}

[[noreturn]] void cannot_start(const std::string& path, int error, bool elf) {
  std::string why = std::strerror(error);
  if (error == ENOENT) why = "the interpreter or loader that it names does not exist";
  if (error == ENOEXEC && elf) why = "it is built for another kind of machine";
  throw UserError("cannot run '" + path + "': " + why, kNotExecutable);
}

// Stops this process as the program was stopped, so that the shell sees the job stop. Without a
// shell that could continue it (an orphaned process group) the kernel ignores this, and so the
// command never hangs stopped.
void stop_like(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  struct sigaction plain = {}, before = {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, &before);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr); // stops here, goes on with SIGCONT
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
  ::sigaction(signal, &before, nullptr);
}

constexpr std::uint64_t kRepeatNs = 1'000'000'000;
constinit std::uint64_t repeats_until = 0; // signals that were passed on are ignored

// A handler. After that time the signal does what it would have done.
void ignore_repeat(int signal) {
  if (read_monotonic_ns() < repeats_until) return;
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void ignore_repeats_of(const sigset_t& signals) {
  repeats_until = read_monotonic_ns() + kRepeatNs;
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    struct sigaction now = {};
    if (!sigismember(&signals, signal) || ::sigaction(signal, nullptr, &now) != 0) continue;
    if (now.sa_handler != SIG_DFL) continue;
    now.sa_handler = ignore_repeat;
    now.sa_flags = SA_RESTART;
    ::sigaction(signal, &now, nullptr);
  }
}

void pass_on(const siginfo_t& info, pid_t program) {
  // A shell continues the whole group: only a program that is still stopped needs ours.
  if (info.si_signo == SIGCONT) {
    ProcessStat stat;
    if (read_process_stat(program, stat) && stat.state == 'T') ::kill(program, SIGCONT);
    return;
  }
  if (info.si_code > 0)
    return; // from the kernel: the terminal, which has sent it to the program as well
  if (info.si_pid == program) return; // the program signals its parent or its group
  if (info.si_code == SI_QUEUE) {
    ::sigqueue(program, info.si_signo, info.si_value);
  } else {
    ::kill(program, info.si_signo);
  }
}

// Takes in every child that has changed. True once the program itself has ended.
bool reap(pid_t program, Outcome& outcome, ProcessEnd& program_end) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (WIFSTOPPED(status)) {
      const int signal = WSTOPSIG(status);
      if (pid == program && (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU))
        stop_like(signal);
      continue;
    }
    const ProcessEnd end = {pid, status, read_tsc(), read_monotonic_ns()};
    if (pid == program) {
      program_end = end;
    } else {
      outcome.ended.push_back(end);
    }
  }
  return program_end.pid != 0;
}

// The next signal, or what is less than 1 for none.
int wait_for_signal(const sigset_t& signals, siginfo_t& info, const LaunchPlan& plan,
                    std::chrono::milliseconds& pause) {
  if (!plan.meanwhile) return ::sigwaitinfo(&signals, &info);
  constexpr long kMillisecond = 1'000'000; // ns
  const timespec wait = {pause.count() / 1000, pause.count() % 1000 * kMillisecond};
  const int signal = ::sigtimedwait(&signals, &info, &wait);
  if (signal < 0 && errno == EAGAIN) pause = plan.meanwhile();
  return signal;
}

Outcome stay_with(pid_t program, const sigset_t& signals, const LaunchPlan& plan) {
  Outcome outcome;
  ProcessEnd end;
  ProcessStat first;
  const std::uint64_t started = read_process_stat(program, first) ? first.started : 0;
  sigset_t seen;
  sigemptyset(&seen);
  std::chrono::milliseconds pause{500};
  while (!reap(program, outcome, end)) {
    siginfo_t info = {};
    const int signal = wait_for_signal(signals, info, plan, pause);
    if (signal <= 0 || signal == SIGCHLD) continue;
    sigaddset(&seen, signal);
    pass_on(info, program);
  }
  ignore_repeats_of(seen);
  outcome.ended.insert(outcome.ended.begin(), end);
  outcome.running = running_descendants(::getpid(), started);
  const timespec none = {};
  int late = 0; // what arrived late was the program's: the report survives it
  do late = ::sigtimedwait(&signals, nullptr, &none);
  while (late > 0);
  return outcome;
}

} // namespace

Outcome launch(const LaunchPlan& plan) {
  const bool elf = is_elf(plan.path);
  int errors[2];
  if (::pipe2(errors, O_CLOEXEC) != 0)
    throw UserError(std::string("cannot make a pipe: ") + std::strerror(errno), kCannotStart);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  const sigset_t signals = passed_on();
  sigset_t mask;
  struct sigaction plain = {}, child_action = {};
  plain.sa_handler = SIG_DFL; // an inherited "ignore" would throw the status away
  ::sigaction(SIGCHLD, &plain, &child_action);
  ::sigprocmask(SIG_BLOCK, &signals, &mask);

  const pid_t program = ::fork();
  if (program == 0) become(plan, elf, mask, child_action, errors[1]);
  const int fork_error = errno;
  ::close(errors[1]);
  // The program has its own disposition by now; a report that is too large shall be an error of
  // write().
  std::signal(SIGXFSZ, SIG_IGN);
  if (program < 0)
    throw UserError(std::string("cannot start a process: ") + std::strerror(fork_error),
                    kCannotStart);

  int error = 0;
  ssize_t got = 0;
  do got = ::read(errors[0], &error, sizeof error);
  while (got < 0 && errno == EINTR);
  ::close(errors[0]);
  if (got == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(program, nullptr, 0);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    cannot_start(plan.path, error, elf);
  }
  Outcome outcome = stay_with(program, signals, plan);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  return outcome;
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int die_like(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0); // a core_pattern that pipes ignores the limit
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  return 128 + signal;
}

} // namespace gmt
