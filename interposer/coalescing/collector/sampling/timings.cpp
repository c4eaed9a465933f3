// SPDX-License-Identifier: Apache-2.0
#include "interposer/coalescing/collector/sampling/timings.h"

#include "interposer/coalescing/collector/driver.h"
#include "interposer/coalescing/collector/this_thread.h"

namespace gmt::interposer::collector {

namespace {

bool has_event(std::uint64_t& event) noexcept {
  constexpr unsigned kDefaultFlags = 0; // with timing
  return event != 0 || make_event(&event, kDefaultFlags) == 0;
}

// cuEventElapsedTime got a second form in CUDA 12.8.
int elapsed(float* milliseconds, std::uint64_t first, std::uint64_t last) noexcept {
  const int result = elapsed_time_v2(milliseconds, first, last);
  return result == kNoSuchFunction ? elapsed_time(milliseconds, first, last) : result;
}

} // namespace

unsigned Timings::begin(Kernel* kernel, std::uint64_t warps, int part,
                        std::uint64_t stream) noexcept {
  for (unsigned i = 0; i < kMost; ++i) {
    Timing& timing = timings_[i];
    State free = kFree;
    if (!timing.state.compare_exchange_strong(free, kBeginning, std::memory_order_acquire))
      continue;
    timing.kernel = kernel;
    timing.warps = warps;
    timing.part = part;
    if (has_event(timing.first) && has_event(timing.last) &&
        record_event(timing.first, stream) == 0) {
      pending_.fetch_add(1);
      return i + 1;
    }
    timing.state.store(kFree, std::memory_order_release);
    return 0;
  }
  return 0;
}

void Timings::end(unsigned number, std::uint64_t stream, bool launched) noexcept {
  if (number == 0 || number > kMost) return;
  Timing& timing = timings_[number - 1];
  if (launched && record_event(timing.last, stream) == 0)
    return timing.state.store(kLaunched, std::memory_order_release);
  pending_.fetch_sub(1);
  timing.state.store(kFree, std::memory_order_release);
}

void Timings::take(Visit visit, void* data) noexcept {
  if (!any()) return;
  const RelaxedCapture relaxed;
  for (Timing& timing : timings_) {
    if (timing.state.load(std::memory_order_acquire) != kLaunched || ask_event(timing.last) != 0)
      continue;
    float milliseconds = 0;
    if (elapsed(&milliseconds, timing.first, timing.last) == 0) {
      visit(data, {timing.kernel, timing.warps, timing.part,
                   static_cast<std::uint64_t>(double{milliseconds} * 1e6)});
    }
    pending_.fetch_sub(1);
    timing.state.store(kFree, std::memory_order_release);
  }
}

bool Timings::has_begun(const Kernel* kernel) noexcept {
  const RelaxedCapture relaxed;
  for (const Timing& timing : timings_) {
    if (timing.state.load(std::memory_order_acquire) != kLaunched || timing.kernel != kernel)
      continue;
    if (ask_event(timing.first) == 0) return true;
  }
  return false;
}

void Timings::drop() noexcept {
  for (Timing& timing : timings_) {
    timing.first = timing.last = 0;
    timing.state.store(kFree);
  }
  pending_.store(0);
}

} // namespace gmt::interposer::collector
