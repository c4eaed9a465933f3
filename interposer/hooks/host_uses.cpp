// SPDX-License-Identifier: Apache-2.0
// The handler of SIGSEGV opens the page and writes a record with the call stack of the access; then
// the instruction runs again. It takes the place of crash_handler.cpp's or of the default one, and
// goes where a fault is none of a protected page. A program with a handler of its own is not
// watched: it may want to hear of each fault.
#include "interposer/hooks/host_uses.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "interposer/base/fork_guard.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/readable.h"
#include "interposer/calls/call.h"
#include "interposer/driver_state/host_watches.h"
#include "interposer/execution/records.h"
#include "interposer/hooks/crash_handler.h"
#include "interposer/host_races/interface.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_session.h"
#include "interposer/log/unwinder.h"

namespace gmt::interposer {
namespace {

using trace::ExecutionOp;
using trace::HostNotWatched;

constinit struct sigaction previous = {}; // of SIGSEGV
constinit bool is_handling = false, has_library = false;
// Of this thread: the handler is being set by ours, which comes to on_leave(), too
constinit thread_local bool is_own_change __attribute__((tls_model("initial-exec"))) = false;
// The last access that was tried again though it met no copy: of the page's other bytes, or of a
// page that another thread had just opened. Before the next copy such a fault is not ours.
struct Retry {
  std::uint64_t address = 0, closings = 0;
  bool operator==(const Retry&) const = default;
};
constinit thread_local Retry retried __attribute__((tls_model("initial-exec"))) = {};

// A function that the driver calls back knows what is done by then.
bool is_called_by_driver() noexcept {
  void* frames[64];
  const unsigned count = unwind(frames, 64);
  for (unsigned i = 0; i < count; ++i) {
    if (caller_is_driver(frames[i])) return true;
  }
  return false;
}

void record_uses(const UsedCopies& copies, std::uint64_t address, bool writes, const void* caller,
                 const void* frame) noexcept {
  if (is_called_by_driver()) return;
  for (unsigned i = 0; i < copies.count; ++i) {
    Record record;
    record.kind = trace::Kind::kExecution;
    record.droppable = false;
    record.use(trace::ExecutionWord::kCount);
    trace::ExecutionFields(record)
      .op(writes ? ExecutionOp::kHostStores : ExecutionOp::kHostLoads)
      .call(copies.orders[i])
      .address(address);
    record_call(record, trace::kNoApi, caller, frame);
  }
}

void say(HostNotWatched why) noexcept {
  ThreadLog* log = current_log();
  if (log == nullptr) return;
  with_room([&](bool) noexcept {
    Record record;
    record.kind = trace::Kind::kExecution;
    record.droppable = false;
    record.use(trace::ExecutionWord::kCount);
    trace::ExecutionFields(record)
      .op(ExecutionOp::kHostNotWatched)
      .missing(static_cast<std::uint64_t>(why));
    append_ordered(*log, record, 0);
  });
}

// From may_protect(), which answers false.
bool stops(HostNotWatched why) noexcept {
  if (watches_host.exchange(false)) say(why);
  return false;
}

// The access of the driver, in a call or a thread of its own, is no access of the program's.
bool is_programs(std::uint64_t instruction, std::uint64_t stack) noexcept {
  return is_recorded_process() && !is_inside_call(reinterpret_cast<const void*>(stack)) &&
         !is_drivers_code(instruction) && !is_drivers_code(word_at(stack));
}

void on_fault(int number, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const auto address = reinterpret_cast<std::uint64_t>(info->si_addr);
  constexpr std::uint64_t kWrite = 2; // of a page fault's error code
  const bool writes = (static_cast<std::uint64_t>(registers[REG_ERR]) & kWrite) != 0;
  UsedCopies copies;
  if (info->si_code == SEGV_ACCERR && open_faulted_page(address, writes, copies) &&
      (copies.count != 0 || retried != Retry{address, copies.closings})) {
    retried = copies.count != 0 ? Retry{} : Retry{address, copies.closings};
    const auto instruction = static_cast<std::uint64_t>(registers[REG_RIP]);
    const auto stack = static_cast<std::uint64_t>(registers[REG_RSP]);
    if (copies.count != 0 && is_programs(instruction, stack))
      record_uses(copies, address, writes, reinterpret_cast<const void*>(instruction),
                  reinterpret_cast<const void*>(stack));
    errno = error;
    return;
  }
  end_host_watches();
  is_own_change = true;
  (void)sigaction(number, &previous, nullptr);
  is_own_change = false;
  if (info->si_code <= 0) // sent: it does not come again by itself
    (void)syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);
  errno = error;
}

// Libraries by which the kernel or a network card uses memory that no call names.
HostNotWatched unseen_user() noexcept {
  HostNotWatched found = HostNotWatched::kNone;
  const InsideLocks inside;
  dl_iterate_phdr(
    [](dl_phdr_info* object, std::size_t, void* result) noexcept {
      auto& why = *static_cast<HostNotWatched*>(result);
      if (std::strstr(object->dlpi_name, "/liburing.so") != nullptr) why = HostNotWatched::kUring;
      if (std::strstr(object->dlpi_name, "/libibverbs.so") != nullptr) why = HostNotWatched::kRdma;
      return 0;
    },
    &found);
  return found;
}

// The analyzer follows streams from here on.
void begins() noexcept {
  if (has_library) say(HostNotWatched::kNone);
  else stops(HostNotWatched::kNoLibrary);
}

bool may_protect() noexcept {
  constexpr unsigned kSeldom = 64;
  static constinit std::atomic<unsigned> asked{0};
  if (asked.fetch_add(1, std::memory_order_relaxed) % kSeldom == 0) {
    const HostNotWatched why = unseen_user();
    if (why != HostNotWatched::kNone) return stops(why);
  }
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return false;
  const bool has_information = (now.sa_flags & SA_SIGINFO) != 0;
  if (has_information && now.sa_sigaction == on_fault) return true;
  const bool is_default = !has_information && now.sa_handler == SIG_DFL;
  if (is_handling || (!is_default && !is_crash_handler(now)))
    return stops(HostNotWatched::kHandler);
  previous = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  is_own_change = true;
  is_handling = sigaction(SIGSEGV, &ours, nullptr) == 0;
  is_own_change = false;
  return is_handling;
}

void on_use(void* memory, std::size_t bytes, bool writes, const void* caller) noexcept {
  if (!watches_host.load(std::memory_order_relaxed)) return;
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  UsedCopies copies;
  open_used_memory(address, bytes, writes, copies);
  const void* frame = __builtin_frame_address(0);
  if (copies.count != 0 && is_recorded_process() && !is_inside_call(frame))
    record_uses(copies, address, writes, caller, frame);
}

void on_leave() noexcept {
  if (is_own_change || !watches_host.load()) return;
  end_host_watches();
  say(HostNotWatched::kHandler);
}

constinit const HostCalls host_calls{on_use, on_leave};

} // namespace

void watch_host_uses() noexcept {
  if (Process::options().host_races == 0) return;
  void* symbol = real_dlsym(RTLD_DEFAULT, kHostCallsSymbol);
  has_library = symbol != nullptr;
  begin_host_watches({begins, may_protect});
  if (!has_library) return;
  reinterpret_cast<TakeHostCalls*>(symbol)(&host_calls);
  static constinit bool is_watching_forks = false;
  if (!is_watching_forks)
    is_watching_forks = pthread_atfork(nullptr, nullptr, open_host_watches_in_child) == 0;
}

void forget_host_uses() noexcept { forget_host_watches(); }

} // namespace gmt::interposer
