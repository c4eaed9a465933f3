// SPDX-License-Identifier: Apache-2.0
// What the collector keeps of each CUDA context, and the gate that keeps launches out while a
// window opens or is read.
//
// Invariants: a context once met is kept, by its handle, until the process forks; between enter()
// and leave() a thread is inside a call that gives the device work, and no gate is held that needs
// no call to be inside.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/coalescing/collector/sampling/kernel_table.h"
#include "interposer/coalescing/collector/sampling/timings.h"
#include "interposer/coalescing/collector/windows/streams.h"
#include "interposer/coalescing/collector/windows/sums.h"

struct CUpti_RangeProfiler_Object;

namespace gmt::interposer::collector {

// A launch that is being counted by itself (counting.h); changed under the gate.
struct Counting {
  std::atomic<bool> open{false};
  std::atomic<bool> launched{false};
  std::atomic<bool> spoilt{false}; // something else ran
  Kernel* kernel = nullptr;
  unsigned pass = 0;
  std::uint64_t began_at = 0;
  CUpti_RangeProfiler_Object* profiler = nullptr; // the context's, from the first time on
};

struct Context {
  std::uint64_t handle = 0;
  unsigned index = 0;
  std::atomic<int> device{-1};
  std::atomic<bool> has_sums{false}; // from its first launch on
  Sums sums;
  Kernels kernels;
  StreamSet streams;
  Timings timings;
  std::atomic<bool> taking_times{false};

  // The gate.
  std::atomic<std::uint32_t> submitting{0}; // threads inside a call that gives the device work
  std::atomic<bool> closed{false};          // others wait before they enter

  // The window; changed under the gate.
  std::atomic<bool> open{false};
  std::atomic<Part> part{Part::kAll};
  std::atomic<std::uint64_t> opened_at{0}, launches_in_window{0};
  std::atomic<bool> spoilt{false};        // its figures must be dropped
  std::atomic<std::uint64_t> expected{0}; // nanoseconds that its launches are thought to take
  // Launches whose time is known; nanoseconds more than by themselves
  std::atomic<std::uint64_t> timed_in_window{0}, slower_by{0};
  // `opened_at` of the last in which a costly kernel had to be launched
  std::atomic<std::uint64_t> costly_in{0};
  Counting counting;
  // After trouble with a window: launches are not held back
  std::atomic<std::uint64_t> rest_until{0};
  std::atomic<std::uint64_t> look_again_at{0}; // after the context was found busy
  std::atomic<unsigned> troubles_in_a_row{0};  // windows that were lost, and waits in vain
};

inline constexpr unsigned kMostContexts = 64;

Context* known_context(std::uint64_t handle) noexcept; // null if it has had no work yet
Context* context_at(unsigned index) noexcept;          // null behind the last
// The same, made if it is new; null if there is no room
Context* meet_context(std::uint64_t handle) noexcept;
bool make_sums(Context& context) noexcept; // at its first launch; false if nothing can be written
void forget_contexts() noexcept;

extern CaptureSet captures;

void enter(Context& context) noexcept; // waits while a gate is held, some milliseconds
void leave(Context& context) noexcept;

// Held while a window opens, closes or is read. Never waits: held() says whether it was free.
// kNoCall: only if no other call is giving the context work. It is not to be had while a stream of
// the process captures.
class Gate {
public:
  enum class Needs { kNoCall, kNothing };
  Gate(Context& context, Needs needs) noexcept;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  bool held() const noexcept { return held_; }

private:
  Context& context_;
  bool held_ = false;
};
// After a stream was added to `captures`: until no gate is held.
void wait_for_gates() noexcept;

} // namespace gmt::interposer::collector
