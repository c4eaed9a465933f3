// SPDX-License-Identifier: Apache-2.0
// Exported hooks of the C library: _exit and its like (how a process without a watching parent
// ended), exec and posix_spawn (a child that comes up without us is reported to the command),
// dlclose (addresses change meaning). All of them forward to the next definition unchanged. In a
// vfork child they must not write to the parent's trace.
#include "interposer/hooks/process_hooks.h"

#include <alloca.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/base/signal_guard.h"
#include "interposer/calls/call.h"
#include "interposer/core_dump/core_dump.h"
#include "interposer/device_ring/drain.h"
#include "interposer/hooks/privileged.h"
#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/process.h"

#define GMT_EXPORT extern "C" __attribute__((visibility("default")))

namespace gmt::interposer {

namespace {

void record_last_words(trace::ExitWay way, int status) noexcept {
  if (!is_recorded_process()) return;
  hold_for_core_dump();
  record_exit(way, static_cast<std::uint64_t>(status & 0xff));
  drain_rings();
}

void on_exit_call(int status, void*) noexcept { record_last_words(trace::ExitWay::kExit, status); }
void record_end(int status) noexcept { record_last_words(trace::ExitWay::kUnderscoreExit, status); }

bool keeps_us(char* const* environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "LD_PRELOAD=", 11) == 0)
      return std::strstr(*environment, "libgpumemtrace") != nullptr;
  }
  return false;
}

enum class Lookup : bool { kNone, kPath };

// Said only when a command started us: a user who preloads by hand knows.
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
  record_last_words(trace::ExitWay::kExec, 0);
}

template <class Result> Result exec_failed(Result result) noexcept {
  const SignalGuard signals; // keeps errno
  if (is_recorded_process()) record_exit(trace::ExitWay::kExecFailed, 0);
  return result;
}

template <class Function> Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(next_function(name));
}

using Arguments = char* const*;

int exec_path(const char* path, Arguments argv, Arguments environment) noexcept {
  before_exec(path, environment, Lookup::kNone);
  return exec_failed(
    next<int(const char*, Arguments, Arguments)>("execve")(path, argv, environment));
}

int exec_search(const char* file, Arguments argv, Arguments environment) noexcept {
  before_exec(file, environment, Lookup::kPath);
  return exec_failed(
    next<int(const char*, Arguments, Arguments)>("execvpe")(file, argv, environment));
}

} // namespace

void watch_process_end() noexcept {
  static bool watching = false; // a forked child inherits the registration
  if (!watching) watching = on_exit(on_exit_call, nullptr) == 0;
}

} // namespace gmt::interposer

namespace gi = gmt::interposer;

// ---- ends

GMT_EXPORT __attribute__((noreturn)) void _exit(int status) {
  gi::record_end(status);
  if (auto* f = gi::next<void(int)>("_exit")) f(status);
  for (;;) syscall(SYS_exit_group, status);
}

GMT_EXPORT __attribute__((noreturn)) void _Exit(int status) noexcept {
  gi::record_end(status);
  if (auto* f = gi::next<void(int)>("_Exit")) f(status);
  for (;;) syscall(SYS_exit_group, status);
}

GMT_EXPORT __attribute__((noreturn)) void quick_exit(int status) noexcept {
  gi::record_end(status);
  if (auto* f = gi::next<void(int)>("quick_exit")) f(status);
  for (;;) syscall(SYS_exit_group, status);
}

// ---- unloading

GMT_EXPORT int dlclose(void* handle) noexcept {
  auto* f = gi::next<int(void*)>("dlclose");
  const int result = f != nullptr ? f(handle) : -1;
  gi::libraries_were_unloaded();
  return result;
}

// ---- exec and spawn

GMT_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  return gi::exec_path(path, argv, envp);
}
GMT_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  return gi::exec_path(path, argv, environ);
}
GMT_EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  return gi::exec_search(file, argv, environ);
}
GMT_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  return gi::exec_search(file, argv, envp);
}
GMT_EXPORT int execveat(int fd, const char* path, char* const argv[], char* const envp[],
                        int flags) noexcept {
  gi::before_exec(path, envp, gi::Lookup::kNone);
  auto* f =
    gi::next<int(int, const char*, gi::Arguments, gi::Arguments, int)>("execveat"); // glibc 2.34
  return gi::exec_failed(f != nullptr
                           ? f(fd, path, argv, envp, flags)
                           : static_cast<int>(syscall(SYS_execveat, fd, path, argv, envp, flags)));
}
GMT_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  gi::before_exec("a descriptor", envp, gi::Lookup::kNone);
  return gi::exec_failed(
    gi::next<int(int, gi::Arguments, gi::Arguments)>("fexecve")(fd, argv, envp));
}

// The variadic forms become their array twins. `first` is argv[0]; for execle the environment
// follows the NULL.
#define GMT_COLLECT(first)                                                                         \
  va_list list, count_list;                                                                        \
  va_start(list, first);                                                                           \
  va_copy(count_list, list);                                                                       \
  std::size_t count = 1;                                                                           \
  while (va_arg(count_list, char*) != nullptr) ++count;                                            \
  va_end(count_list);                                                                              \
  auto** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*)));                          \
  argv[0] = const_cast<char*>(first);                                                              \
  for (std::size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char*)

GMT_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  GMT_COLLECT(first);
  va_end(list);
  return gi::exec_path(path, argv, environ);
}
GMT_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  GMT_COLLECT(first);
  va_end(list);
  return gi::exec_search(file, argv, environ);
}
GMT_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  GMT_COLLECT(first);
  char* const* envp = va_arg(list, char* const*);
  va_end(list);
  return gi::exec_path(path, argv, envp);
}
#undef GMT_COLLECT

GMT_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const argv[],
                           char* const envp[]) {
  gi::report_unhooked(path, envp, gi::Lookup::kNone);
  return gi::next<decltype(posix_spawn)>("posix_spawn")(pid, path, actions, attributes, argv, envp);
}
GMT_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  gi::report_unhooked(file, envp, gi::Lookup::kPath);
  return gi::next<decltype(posix_spawnp)>("posix_spawnp")(pid, file, actions, attributes, argv,
                                                          envp);
}

// The C library starts their shell itself, past the hooks above.
GMT_EXPORT int system(const char* command) {
  if (command != nullptr) gi::report_shell(command);
  return gi::next<int(const char*)>("system")(command);
}
GMT_EXPORT FILE* popen(const char* command, const char* type) {
  gi::report_shell(command);
  return gi::next<FILE*(const char*, const char*)>("popen")(command, type);
}
