// SPDX-License-Identifier: Apache-2.0
// CUPTI's Range Profiler as the collector needs it: counters of all that a context does between
// begin() and end(). A chip cannot count all of them at once; two passes hold them on those from
// Turing to GB100 (CUPTI 13.0 has no such counters of memory for GB202 and GA10B, which are
// refused). Launches are not repeated: each is counted in one pass. One thread at a time may call
// this, for one context at a time.
//
// What cupti_range_profiler.h leaves open is relied on here and nowhere else (H100, driver 580):
// beginning and ending wait for all that the context has to do; launches in between are as fast as
// ever; a profiler that is enabled and not begun costs nothing and does not disturb SASS metrics,
// nor they it as long as only one of them is open. The same configuration may be set again with
// another pass, and what is not of that pass is then no number; what only another configuration
// asks for would read 0. A range lasts from begin() to end(), so the kernel's time is the share of
// it in which some multiprocessor had work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/coalescing/collector/cupti.h"

struct CUpti_Profiler_Host_Object;

namespace gmt::interposer::collector {

class Counters final : public KernelCounters {
public:
  constexpr explicit Counters(const Cupti& cupti) noexcept : cupti_(cupti) {}
  Answer begin(std::uint64_t context, int device, unsigned& pass,
               CUpti_RangeProfiler_Object*& profiler) noexcept override;
  Answer end(int device, CUpti_RangeProfiler_Object* profiler, Figures* figures) noexcept override;
  void forget(CUpti_RangeProfiler_Object* profiler) noexcept override;

private:
  static constexpr int kMostDevices = 64;
  struct Memory {
    std::uint8_t* bytes;
    std::size_t size;
  };
  struct Plan { // of a chip
    CUpti_Profiler_Host_Object* host;
    Memory config;
    unsigned passes;
  };
  Answer know_functions(void* library) noexcept;
  Answer plan(int device) noexcept;
  Answer configure(const Plan& plan, unsigned pass, CUpti_RangeProfiler_Object* profiler) noexcept;
  Answer read(const Plan& plan, CUpti_RangeProfiler_Object* profiler, double* values) noexcept;

  const Cupti& cupti_;
  bool knows_functions_ = false;
  Plan plans_[kMostDevices] = {};
  Memory data_ = {}; // of the counters being taken
};

} // namespace gmt::interposer::collector
