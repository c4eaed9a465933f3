// SPDX-License-Identifier: Apache-2.0
// See launch_arguments.h. The driver's questions about parameters are cuFuncGetParamInfo and, for a
// CUkernel, which cuLaunchKernel takes as well, cuKernelGetParamInfo (both of CUDA 12.4): they
// answer 400 for the other kind of handle and 1 past the last parameter; stream capture allows them
// (measured on an H200, driver 580).
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

namespace gmt::interposer {

namespace {

// The aligned words of the parameter block that lie in one parameter.
struct Run {
  std::uint16_t parameter;
  std::uint16_t words;
  std::uint16_t offset;   // of the first, in the parameter
  std::uint16_t in_block; // and in the block
};

// A header, followed by its runs. Kernels with the same parameters share one.
struct Layout {
  std::uint32_t count; // of runs
  std::uint32_t parameters;
  const Run* runs() const noexcept { return reinterpret_cast<const Run*>(this + 1); }
};
static_assert(sizeof(Layout) == 8 && sizeof(Run) == 8);

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
constexpr unsigned kEntries = 1 << 13;
constexpr unsigned kProbes = 8;
constinit Entry entries[kEntries + kProbes] = {};

// Held over memory operations and the growth of the log only: a layout that is not kept is asked
// for again.
constinit std::atomic<bool> locked{false};
constexpr int kLockMilliseconds = 20;

std::uint64_t key_of(std::uint64_t function, std::uint64_t value) noexcept {
  return function ^ value * 0x9e3779b97f4a7c15u;
}
Entry* home_of(std::uint64_t function) noexcept {
  return entries + (function * 0x9fb21c651e98df25u >> 51); // 13 bits
}

// Unit of the kernel's layout, kNotKept if it has to be asked for.
std::uint32_t find(std::uint64_t function) noexcept {
  const std::uint64_t generation = code_state.load(std::memory_order_relaxed) >> kGenerationShift;
  const Entry* entry = home_of(function);
  for (unsigned probe = 0; probe < kProbes; ++probe, ++entry) {
    const std::uint64_t value = entry->value.load(std::memory_order_acquire);
    if (value >> kGenerationShift == generation &&
        entry->key.load(std::memory_order_relaxed) == key_of(function, value)) {
      return static_cast<std::uint32_t>(value & (kNextGeneration - 1));
    }
  }
  return kNotKept;
}

// Addresses below the first are never mapped, those above the last do not exist.
constexpr std::uint64_t kLowestAddress = 1 << 16;
bool could_be_pointer(std::uint64_t value) noexcept {
  return value - kLowestAddress < (std::uint64_t{1} << trace::kArgumentShift) - kLowestAddress;
}

std::uint64_t word_at(const char* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Where words of arguments lie.
struct Words {
  const char* bytes;
  unsigned count;
};

// Those that could be pointers go to `out`, up to `end`. False if one found no room.
bool take_pointers(Words words, unsigned parameter, std::uint64_t*& out,
                   std::uint64_t* end) noexcept {
  while (words.count != 0) {
    const auto room = static_cast<unsigned>(end - out);
    if (room == 0) [[unlikely]] {
      for (unsigned i = 0; i < words.count; ++i) {
        if (could_be_pointer(word_at(words.bytes + sizeof(std::uint64_t) * i))) return false;
      }
      return true;
    }
    const unsigned now = words.count < room ? words.count : room;
    for (unsigned i = 0; i < now; ++i) {
      const std::uint64_t value = word_at(words.bytes + sizeof value * i);
      *out = trace::argument_word(value, parameter);
      out += could_be_pointer(value) ? 1 : 0;
    }
    words = {words.bytes + sizeof(std::uint64_t) * now, words.count - now};
  }
  return true;
}

// The words of one launch into the record, until it is full. `find_words(run)` gives the words of
// the run that are there.
template <class Find>
void scan(Record& r, const Layout& layout, Find find_words) noexcept {
  std::uint64_t* out = r.w.data() + r.words;
  std::uint64_t* const end = r.w.data() + kMaxRecordWords;
  const Run* run = layout.runs();
  const Run* const last = run + layout.count;
  for (; run != last; ++run) {
    const Words words = find_words(*run);
    if (!take_pointers(words, run->parameter, out, end) || words.count != run->words) break;
  }
  r.words = static_cast<std::uint16_t>(out - r.w.data());
  if (run == last) r.flags |= trace::kLaunchScanned;
}

struct Block {
  const char* bytes = nullptr;
  std::size_t size = 0;
};

// The block of parameters that `extra` names: pairs of a word and a pointer (CU_LAUNCH_PARAM_... of
// cuda.h).
Block block_of(void* const* extra) noexcept {
  constexpr std::uintptr_t kBufferPointer = 1, kBufferSize = 2;
  constexpr unsigned kMostPairs = 8;
  Block block;
  for (unsigned i = 0; i < kMostPairs; ++i, extra += 2) {
    const auto word = reinterpret_cast<std::uintptr_t>(*extra);
    if (word == kBufferPointer) {
      block.bytes = static_cast<const char*>(extra[1]);
    } else if (word == kBufferSize && extra[1] != nullptr) {
      block.size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      break; // the end, or something unknown
    }
  }
  return block;
}

void scan_launch(Record& r, std::uint32_t unit, void* const* parameters,
                 void* const* extra) noexcept {
  if (unit == kUnknown) return;
  const auto& layout = *reinterpret_cast<const Layout*>(arena + unit);
  if (extra == nullptr) [[likely]] {
    if (parameters == nullptr && layout.count != 0) return;
    scan(r, layout, [parameters](const Run& run) noexcept {
      const char* parameter = static_cast<const char*>(parameters[run.parameter]);
      return parameter != nullptr ? Words{parameter + run.offset, run.words} : Words{};
    });
  } else if (parameters == nullptr) { // both at once is refused
    const Block block = block_of(extra);
    scan(r, layout, [block](const Run& run) noexcept {
      if (block.bytes == nullptr || run.in_block >= block.size) return Words{};
      const std::size_t inside = (block.size - run.in_block) / sizeof(std::uint64_t);
      return Words{block.bytes + run.in_block,
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
  auto* fresh = reinterpret_cast<Layout*>(arena + arena_used);
  auto* runs = reinterpret_cast<Run*>(fresh + 1);
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
    const auto* known = reinterpret_cast<const Layout*>(arena + unit);
    if (known->count == fresh->count &&
        std::memcmp(known->runs(), runs, sizeof(Run) * fresh->count) == 0)
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
  for (unsigned probe = 0; probe + 1 < kProbes; ++probe) {
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
  const BoundedLock lock(locked, kLockMilliseconds);
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
  locked.store(false);
}

} // namespace gmt::interposer
