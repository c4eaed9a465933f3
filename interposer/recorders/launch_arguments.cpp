// SPDX-License-Identifier: Apache-2.0
// The driver's questions about parameters are cuFuncGetParamInfo and, for a CUkernel, which
// cuLaunchKernel takes as well, cuKernelGetParamInfo (both of CUDA 12.4): they answer 400 for the
// other kind of handle and 1 past the last parameter; stream capture allows them (measured on an
// H200, driver 580).
#include "interposer/recorders/launch_arguments.h"

#include <atomic>
#include <cstring>
#include <ctime>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/fork_guard.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "interposer/device_ring/drain.h"
#include "interposer/device_ring/ring.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "interposer/log/thread_session.h"
#include "interposer/recorders/argument_scan.h"

namespace gmt::interposer {

namespace {

// Layouts, one behind the other, in units of 8 bytes. The first unit stands for kernels whose
// layout is unknown.
constexpr std::uint32_t kArenaUnits = 1 << 18;
constinit std::uint64_t arena[kArenaUnits] = {};
constexpr std::uint32_t kUnknown = 0;
constinit std::uint32_t arena_used = 1;
// Added to the unit of kernels that leave records of malloc and free: ring.h hears of their
// launches.
constexpr std::uint32_t kInstrumented = 1 << 23;
constexpr std::uint32_t kNotKept = UINT32_MAX;
static_assert(kArenaUnits <= kInstrumented);

// Handle and layout of a kernel: open addressing over a few entries. `key` is tied to `value`, so
// that one read with the other's successor never matches; `value` is generation << 24 | unit in the
// arena (+ kInstrumented), 0 empty.
struct Entry {
  std::atomic<std::uint64_t> key, value;
};
constexpr unsigned kLayoutEntries = 1 << 13;
constexpr unsigned kLayoutProbes = 8;
constinit Entry layout_entries[kLayoutEntries + kLayoutProbes] = {};

// Held over memory operations and the growth of the log only: a layout that is not kept is asked
// for again.
constinit std::atomic<bool> layouts_are_locked{false};
constexpr int kLayoutLockMilliseconds = 20;

std::uint64_t key_of(std::uint64_t function, std::uint64_t value) noexcept {
  return function ^ value * 0x9e3779b97f4a7c15u;
}
Entry* home_of(std::uint64_t function) noexcept {
  return layout_entries + (function * 0x9fb21c651e98df25u >> 51); // 13 bits
}

// Unit of the kernel's layout, kNotKept if it has to be asked for.
std::uint32_t find(std::uint64_t function) noexcept {
  const std::uint64_t generation = code_state.load(std::memory_order_relaxed) >> kGenerationShift;
  const Entry* entry = home_of(function);
  for (unsigned probe = 0; probe < kLayoutProbes; ++probe, ++entry) {
    const std::uint64_t value = entry->value.load(std::memory_order_acquire);
    if (value >> kGenerationShift == generation &&
        entry->key.load(std::memory_order_relaxed) == key_of(function, value)) {
      return static_cast<std::uint32_t>(value & (kNextGeneration - 1));
    }
  }
  return kNotKept;
}

void scan_launch(Record& r, std::uint32_t unit, void* const* parameters,
                 void* const* extra) noexcept {
  if (unit == kUnknown) return;
  const auto& layout = *reinterpret_cast<const ArgumentLayout*>(arena + unit);
  if (extra == nullptr) [[likely]] {
    if (parameters == nullptr && layout.count != 0) return;
    scan_arguments(r, layout, [parameters](const ArgumentRun& run) noexcept {
      const char* parameter = static_cast<const char*>(parameters[run.parameter]);
      return parameter != nullptr ? ArgumentWords{parameter + run.offset, run.words}
                                  : ArgumentWords{};
    });
  } else if (parameters == nullptr) { // both at once is refused
    const ArgumentBlock block = block_of(extra);
    scan_arguments(r, layout, [block](const ArgumentRun& run) noexcept {
      if (block.bytes == nullptr || run.in_block >= block.size) return ArgumentWords{};
      const std::size_t inside = (block.size - run.in_block) / sizeof(std::uint64_t);
      return ArgumentWords{block.bytes + run.in_block,
                           inside < run.words ? static_cast<unsigned>(inside) : run.words};
    });
  }
}

// ---- a kernel's first launch

using GetParameter = DriverFunction<std::uint64_t, std::size_t, std::size_t*, std::size_t*>;
using GetName = DriverFunction<const char**, std::uint64_t>;
constinit GetParameter function_parameter{"cuFuncGetParamInfo"},
  kernel_parameter{"cuKernelGetParamInfo"};
constinit GetName function_name{"cuFuncGetName"}, kernel_name{"cuKernelGetName"};
// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE
constexpr int kInvalidValue = 1, kInvalidHandle = 400;

constexpr std::size_t kMaxParameters = 512; // kernels with more go unscanned
static_assert(trace::KernelWord::kCount + kMaxParameters <= kMaxPayloadWords);

struct Parameter {
  std::uint32_t offset, size;
};

struct Description {
  std::uint64_t function;
  const char* name = nullptr;
  bool known = false; // whether `parameters` are all
  unsigned count = 0;
  Parameter parameters[kMaxParameters];
};

// 0 if the parameters are known, else the driver's answer.
int ask_parameters(GetParameter& get, Description& d) noexcept {
  if (!get.is_there()) return kInvalidHandle;
  for (d.count = 0;; ++d.count) {
    std::size_t offset = 0, size = 0;
    const int result = get(d.function, d.count, &offset, &size);
    if (result == kInvalidValue) {
      d.known = true;
      return 0;
    }
    if (result != 0) return result;
    if (d.count == kMaxParameters || offset + size > UINT16_MAX) return 0;
    d.parameters[d.count] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)};
  }
}

// False if the handle is none, or the driver cannot say now: asked again at the next launch.
bool describe(Description& d) noexcept {
  int result = kInvalidHandle;
  if (function_name.is_there()) result = function_name(&d.name, d.function);
  if (result == kInvalidHandle) result = kernel_name(&d.name, d.function);
  if (result != 0) {
    d.name = nullptr;
    if (kernel_name.is_there()) return false;
  }
  result = ask_parameters(function_parameter, d);
  if (result == kInvalidHandle) ask_parameters(kernel_parameter, d);
  return true;
}

// kKernel and kName. Under the lock, for the buffer's sake.
void announce(ThreadLog& log, const Description& d) noexcept {
  static constinit PayloadWords<kMaxPayloadWords> words{};
  if (d.known) {
    constexpr unsigned kParameters = trace::KernelWord::kCount; // the first of them
    trace::KernelFields(words).function(d.function).parameter_count(d.count);
    for (unsigned i = 0; i < d.count; ++i) {
      words.w[kParameters + i] = trace::pack_halves({d.parameters[i].offset, d.parameters[i].size});
    }
    log.append_words(trace::Kind::kKernel, words.w, kParameters + d.count);
  }
  if (d.name == nullptr) return;
  constexpr unsigned kText = trace::NameWord::kCount; // its first word
  const std::size_t length = strnlen(d.name, sizeof(std::uint64_t) * (kMaxPayloadWords - kText));
  trace::NameFields(words).handle(d.function).length(length);
  log.append_words(trace::Kind::kName, words.w, words.set_text(kText, {d.name, length}));
}

// Unit of the layout with these parameters, made if there is none yet; kUnknown if there is no
// room. Under the lock.
std::uint32_t layout_of(const Description& d) noexcept {
  if (!d.known) return kUnknown;
  auto* fresh = reinterpret_cast<ArgumentLayout*>(arena + arena_used);
  auto* runs = reinterpret_cast<ArgumentRun*>(fresh + 1);
  std::uint32_t room = kArenaUnits - arena_used;
  if (room-- == 0) return kUnknown;
  *fresh = {0, d.count};
  for (unsigned i = 0; i < d.count; ++i) {
    const Parameter& p = d.parameters[i];
    const std::uint32_t first = (8 - p.offset % 8) % 8;
    if (first + 8 > p.size) continue;
    if (fresh->count == room) return kUnknown;
    runs[fresh->count++] = {
      static_cast<std::uint16_t>(i), static_cast<std::uint16_t>((p.size - first) / 8),
      static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(p.offset + first)};
  }
  for (std::uint32_t unit = 1; unit < arena_used;) {
    const auto* known = reinterpret_cast<const ArgumentLayout*>(arena + unit);
    if (known->count == fresh->count &&
        std::memcmp(known->runs(), runs, sizeof(ArgumentRun) * fresh->count) == 0)
      return unit;
    unit += 1 + known->count;
  }
  const std::uint32_t unit = arena_used;
  arena_used += 1 + fresh->count;
  return unit;
}

// Under the lock. An entry of an older generation is free again.
void keep(std::uint64_t function, std::uint32_t unit, std::uint64_t seen) noexcept {
  if (code_state.load() != seen || (seen & (kNextGeneration - 1)) != 0)
    return; // code was unloaded meanwhile
  const std::uint64_t value = seen | unit;
  Entry* entry = home_of(function);
  for (unsigned probe = 0; probe + 1 < kLayoutProbes; ++probe) {
    const std::uint64_t old = entry->value.load(std::memory_order_relaxed);
    if (old >> kGenerationShift != seen >> kGenerationShift ||
        entry->key.load() == key_of(function, old))
      break;
    ++entry;
  }
  entry->key.store(key_of(function, value), std::memory_order_relaxed);
  entry->value.store(value, std::memory_order_release);
}

[[gnu::noinline, gnu::cold]] void learn_here(Record& r, std::uint64_t function,
                                             void* const* parameters, void* const* extra) noexcept {
  ThreadLog* log = thread_log();
  if (log == nullptr || function == 0) return;
  const std::uint64_t seen = code_state.load();
  Description description;
  description.function = function;
  if (!describe(description)) return;
  const bool instrumented = hand_over_ring(function);
  if (instrumented) expect_records();
  const SignalGuard signals;
  const InsideLocks guard;
  const BoundedLock lock(layouts_are_locked, kLayoutLockMilliseconds);
  if (!lock.held()) return;
  announce(*log, description);
  const std::uint32_t unit =
    Process::options().launch_arguments != 0 ? layout_of(description) : kUnknown;
  keep(function, instrumented ? unit + kInstrumented : unit, seen);
  scan_launch(r, unit, parameters, extra);
}

[[gnu::noinline, gnu::cold]] void learn(Record& r, std::uint64_t function, void* const* parameters,
                                        void* const* extra) noexcept {
  with_room([&](bool) noexcept { learn_here(r, function, parameters, extra); });
}

[[gnu::noinline]] void launch_instrumented(Record& r, std::uint64_t function, std::uint32_t unit,
                                           void* const* parameters, void* const* extra) noexcept {
  hand_over_ring(function); // a CUkernel is launched in several contexts
  expect_records();
  scan_launch(r, unit - kInstrumented, parameters, extra);
}

} // namespace

void record_arguments(Record& r, std::uint64_t function, void* const* parameters,
                      void* const* extra) noexcept {
  const std::uint32_t unit = find(function);
  if (unit < kInstrumented) [[likely]]
    return scan_launch(r, unit, parameters, extra);
  if (unit == kNotKept) return learn(r, function, parameters, extra);
  launch_instrumented(r, function, unit, parameters, extra);
}

void forget_kernels() noexcept {
  forget_code();
  layouts_are_locked.store(false);
}

} // namespace gmt::interposer
