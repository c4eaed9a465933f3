// SPDX-License-Identifier: Apache-2.0
// pthread_getattr_np() would say where a thread's stack ends, but it allocates, and the call may
// have come from the program's allocator. So the pages are asked for: below a thread's stack lies
// its guard page.
#include "interposer/base/own_stack.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "interposer/base/readable.h"
#include "interposer/base/signal_guard.h"

namespace gmt::interposer {

constinit thread_local StackRange known_stack __attribute__((tls_model("initial-exec"))) = {};

// Calls work(argument) on the stack that ends at `top`; own_stack_switch.S.
extern "C" __attribute__((visibility("hidden"))) void
gmt_call_on_stack(void (*work)(void*), void* argument, void* top) noexcept;

namespace {

constexpr std::uintptr_t kStackPage = 4096;
constexpr std::size_t kOwnBytes = 256 << 10;
// A page costs a system call; a thread's first calls are not deep
constexpr std::uintptr_t kMostProbed = 256 << 10;
// Of every thread's stack, below the C library's own data
constexpr std::uintptr_t kLeastOfAll = 8 << 10;
static_assert(kLeastOfAll < kRoomForCapture);

// The main thread's stack grows as far as its limit says; the kernel keeps 128 MiB free for it at
// least.
bool find_main_stack(std::uintptr_t below) noexcept {
  constexpr std::uintptr_t kMostTrusted = 64 << 20;
  const std::uintptr_t top = getauxval(AT_EXECFN); // the program's name, above the first frame
  rlimit limit{};
  if (below >= top || top - below > kMostTrusted || getrlimit(RLIMIT_STACK, &limit) != 0)
    return false;
  const std::uintptr_t whole = limit.rlim_cur < kMostTrusted ? limit.rlim_cur : kMostTrusted;
  const std::uintptr_t bytes = whole - whole / 8; // the arguments are part of it
  if (top - below > bytes) return false;
  known_stack = {top - bytes, top};
  return true;
}

// The C library puts a thread's own data at the upper end of its stack. What lies between there and
// here, and goes on below, is the stack, unless the program made the stack itself and put other
// memory right below it.
bool find_in_thread_stack(std::uintptr_t below, std::size_t bytes) noexcept {
  const auto data = static_cast<std::uintptr_t>(pthread_self());
  const bool begun = known_stack.high == data;
  const std::uintptr_t from = begun ? known_stack.low : (data - kLeastOfAll) & ~(kStackPage - 1);
  const std::uintptr_t to = (below - bytes) & ~(kStackPage - 1);
  if (below >= data || from - to > kMostProbed) return false;
  for (std::uintptr_t page = from; page > to; page -= kStackPage) {
    if (!is_readable(reinterpret_cast<const void*>(page - kStackPage))) return false;
  }
  known_stack = {to, data};
  return true;
}

constexpr unsigned kMostKeptStacks = 8;
constinit std::atomic<char*> kept_stacks[kMostKeptStacks] = {}; // stacks that no thread is on

char* take_stack() noexcept {
  for (auto& entry : kept_stacks) {
    if (char* stack = entry.exchange(nullptr, std::memory_order_acquire)) return stack;
  }
  void* memory = mmap(nullptr, kOwnBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mprotect(memory, kStackPage, PROT_NONE);
  return static_cast<char*>(memory);
}

void give_back(char* stack) noexcept {
  for (auto& entry : kept_stacks) {
    char* none = nullptr;
    if (entry.compare_exchange_strong(none, stack, std::memory_order_release)) return;
  }
  munmap(stack, kOwnBytes);
}

} // namespace

bool find_room(std::uintptr_t below, std::size_t bytes) noexcept {
  const int error = errno;
  stack_t alternate{};
  bool found = false;
  if (sigaltstack(nullptr, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) != 0) {
    // Not kept: it ends with the handler
    found = below - reinterpret_cast<std::uintptr_t>(alternate.ss_sp) >= bytes;
  } else if (find_main_stack(below)) {
    found = below - bytes >= known_stack.low;
  } else {
    found = find_in_thread_stack(below, bytes);
  }
  errno = error;
  return found;
}

void run_on_own_stack(void (*work)(void*), void* argument) noexcept {
  const SignalGuard signals;
  char* const stack = take_stack();
  if (stack == nullptr) return work(argument);
  const StackRange outer = known_stack;
  known_stack = {reinterpret_cast<std::uintptr_t>(stack) + kStackPage,
                 reinterpret_cast<std::uintptr_t>(stack) + kOwnBytes};
  gmt_call_on_stack(work, argument, stack + kOwnBytes);
  known_stack = outer;
  give_back(stack);
}

} // namespace gmt::interposer
