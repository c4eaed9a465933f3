// SPDX-License-Identifier: Apache-2.0
// Exported hooks of the C library: _exit and its like, exec, posix_spawn and what starts a shell,
// and dlclose, by which addresses change their meaning. All of them forward to the next definition
// unchanged.
#include <alloca.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer/hooks/process_hooks.h"
#include "interposer/loader/object_files.h"
#include "interposer/loader/real_dlsym.h"

#define GMT_EXPORT extern "C" __attribute__((visibility("default")))

namespace gi = gmt::interposer;

namespace gmt::interposer {
namespace {

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
} // namespace gmt::interposer

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
