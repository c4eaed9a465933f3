// SPDX-License-Identifier: Apache-2.0
// libgpumemtrace_host.so, which --host-races preloads: calls of the C library that give memory to
// the kernel, which answers EFAULT where a page is closed. The core opens it first, and hears of
// the use. SIGSEGV stays unblocked in all threads, since a fault that is blocked ends the process;
// and the core leaves before the program gets a handler of it.
//
// Not here, and named in docs/races.md: asynchronous I/O, splice and its kin, and system calls that
// the program makes itself. dlvsym() is not the core's, as dlsym() is.
#include "interposer/host_races/interface.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using gmt::interposer::HostCalls;

std::atomic<const HostCalls*> core{nullptr};

// The next definition behind this one, in the version that x86-64 began with or a later one.
template <class Function>
Function* next(std::atomic<Function*>& known, const char* name,
               const char* version = "GLIBC_2.2.5") noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(dlvsym(RTLD_NEXT, name, version));
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

// Nothing is read here: its bytes may have no value yet. Without optimisation GCC takes a pointer
// to what is constant for a promise that they have one.
void use(void* memory, std::size_t bytes, bool writes, const void* caller) noexcept {
  if (const HostCalls* calls = core.load(std::memory_order_acquire))
    calls->use(memory, bytes, writes, caller);
}
void use(const void* memory, std::size_t bytes, bool writes, const void* caller) noexcept {
  use(const_cast<void*>(memory), bytes, writes, caller);
}
void use_all(const iovec* parts, std::size_t count, bool writes, const void* caller) noexcept {
  for (std::size_t i = 0; i < count && core.load(std::memory_order_relaxed) != nullptr; ++i)
    use(parts[i].iov_base, parts[i].iov_len, writes, caller);
}
void use_message(const msghdr* message, bool writes, const void* caller) noexcept {
  if (message != nullptr) use_all(message->msg_iov, message->msg_iovlen, writes, caller);
}

void leave_if_segv(int number) noexcept {
  if (number != SIGSEGV) return;
  if (const HostCalls* calls = core.load(std::memory_order_acquire)) calls->leave();
}

sigset_t without_segv(const sigset_t* set) noexcept {
  sigset_t result = *set;
  sigdelset(&result, SIGSEGV);
  return result;
}

} // namespace

extern "C" {

// `kind` says what the system does to the memory: GMT_IN writes it, GMT_OUT reads it.
#define GMT_IN true, __builtin_return_address(0)
#define GMT_OUT false, __builtin_return_address(0)
#define GMT_FORWARD(result, name, parameters, arguments, version, before)                          \
  [[gnu::visibility("default")]] result name parameters {                                          \
    static std::atomic<result(*) parameters> known{nullptr};                                       \
    before;                                                                                        \
    return next(known, #name, version) arguments;                                                  \
  }
#define GMT_CALL(result, name, parameters, arguments, before)                                      \
  GMT_FORWARD(result, name, parameters, arguments, "GLIBC_2.2.5", before)

GMT_CALL(ssize_t, read, (int fd, void* to, std::size_t bytes), (fd, to, bytes),
         use(to, bytes, GMT_IN))
GMT_CALL(ssize_t, pread, (int fd, void* to, std::size_t bytes, off_t at), (fd, to, bytes, at),
         use(to, bytes, GMT_IN))
GMT_CALL(ssize_t, pread64, (int fd, void* to, std::size_t bytes, off64_t at), (fd, to, bytes, at),
         use(to, bytes, GMT_IN))
GMT_CALL(ssize_t, readv, (int fd, const iovec* parts, int count), (fd, parts, count),
         use_all(parts, static_cast<std::size_t>(count), GMT_IN))
GMT_CALL(ssize_t, recv, (int fd, void* to, std::size_t bytes, int flags), (fd, to, bytes, flags),
         use(to, bytes, GMT_IN))
GMT_CALL(ssize_t, recvfrom,
         (int fd, void* to, std::size_t bytes, int flags, sockaddr* from, socklen_t* length),
         (fd, to, bytes, flags, from, length), use(to, bytes, GMT_IN))
GMT_CALL(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags),
         use_message(message, GMT_IN))
GMT_CALL(std::size_t, fread, (void* to, std::size_t size, std::size_t count, FILE* file),
         (to, size, count, file), use(to, size* count, GMT_IN))
GMT_CALL(std::size_t, fread_unlocked, (void* to, std::size_t size, std::size_t count, FILE* file),
         (to, size, count, file), use(to, size* count, GMT_IN))
GMT_CALL(ssize_t, write, (int fd, const void* from, std::size_t bytes), (fd, from, bytes),
         use(from, bytes, GMT_OUT))
GMT_CALL(ssize_t, pwrite, (int fd, const void* from, std::size_t bytes, off_t at),
         (fd, from, bytes, at), use(from, bytes, GMT_OUT))
GMT_CALL(ssize_t, pwrite64, (int fd, const void* from, std::size_t bytes, off64_t at),
         (fd, from, bytes, at), use(from, bytes, GMT_OUT))
GMT_CALL(ssize_t, writev, (int fd, const iovec* parts, int count), (fd, parts, count),
         use_all(parts, static_cast<std::size_t>(count), GMT_OUT))
GMT_CALL(ssize_t, send, (int fd, const void* from, std::size_t bytes, int flags),
         (fd, from, bytes, flags), use(from, bytes, GMT_OUT))
GMT_CALL(ssize_t, sendto,
         (int fd, const void* from, std::size_t bytes, int flags, const sockaddr* to,
          socklen_t length),
         (fd, from, bytes, flags, to, length), use(from, bytes, GMT_OUT))
GMT_CALL(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags),
         use_message(message, GMT_OUT))
GMT_CALL(std::size_t, fwrite, (const void* from, std::size_t size, std::size_t count, FILE* file),
         (from, size, count, file), use(from, size* count, GMT_OUT))
GMT_CALL(std::size_t, fwrite_unlocked,
         (const void* from, std::size_t size, std::size_t count, FILE* file),
         (from, size, count, file), use(from, size* count, GMT_OUT))
// What _FORTIFY_SOURCE makes of them
GMT_FORWARD(ssize_t, __read_chk, (int fd, void* to, std::size_t bytes, std::size_t room),
            (fd, to, bytes, room), "GLIBC_2.4", use(to, bytes, GMT_IN))
GMT_FORWARD(ssize_t, __pread_chk, (int fd, void* to, std::size_t bytes, off_t at, std::size_t room),
            (fd, to, bytes, at, room), "GLIBC_2.4", use(to, bytes, GMT_IN))
GMT_FORWARD(ssize_t, __recv_chk, (int fd, void* to, std::size_t bytes, std::size_t room, int flags),
            (fd, to, bytes, room, flags), "GLIBC_2.4", use(to, bytes, GMT_IN))
GMT_FORWARD(std::size_t, __fread_chk,
            (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* file),
            (to, room, size, count, file), "GLIBC_2.7", use(to, size* count, GMT_IN))

GMT_CALL(int, sigaction, (int number, const struct sigaction* now, struct sigaction* before),
         (number, now, before), if (now != nullptr) leave_if_segv(number))
GMT_CALL(sighandler_t, signal, (int number, sighandler_t handler), (number, handler),
         leave_if_segv(number))
#undef GMT_CALL
#undef GMT_FORWARD

[[gnu::visibility("default")]] int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  static std::atomic<int (*)(int, const sigset_t*, sigset_t*)> known{nullptr};
  auto* real = next(known, "pthread_sigmask", "GLIBC_2.32"); // where it moved to
  if (real == nullptr) real = next(known, "pthread_sigmask");
  if (set == nullptr || how == SIG_UNBLOCK) return real(how, set, before);
  const sigset_t rest = without_segv(set);
  return real(how, &rest, before);
}

[[gnu::visibility("default")]] int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  static std::atomic<int (*)(int, const sigset_t*, sigset_t*)> known{nullptr};
  auto* const real = next(known, "sigprocmask");
  if (set == nullptr || how == SIG_UNBLOCK) return real(how, set, before);
  const sigset_t rest = without_segv(set);
  return real(how, &rest, before);
}

[[gnu::visibility("default")]] void gpumemtrace_take_host_calls(const HostCalls* calls) {
  sigset_t segv;
  sigemptyset(&segv);
  sigaddset(&segv, SIGSEGV);
  pthread_sigmask(SIG_UNBLOCK, &segv, nullptr); // as the thread may have inherited it
  // A child of fork, which may call these, may not look for them: another thread had the loader's
  // lock, perhaps
  const int error = errno;
  char byte = 0;
  sigprocmask(SIG_BLOCK, nullptr, nullptr);
  sigaction(SIGSEGV, nullptr, nullptr);
  (void)!read(-1, &byte, 1);
  (void)!write(-1, &byte, 1);
  errno = error;
  core.store(calls, std::memory_order_release);
}

} // extern "C"
