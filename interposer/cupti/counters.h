// SPDX-License-Identifier: Apache-2.0
// CUPTI's Range Profiler as the collector needs it: counters of all that a context does between begin() and end(), as many
// as one pass can hold on the chips from Turing to GB100 (CUPTI 13.0 has no such counters of memory for GB202 and GA10B,
// which are refused). Used by counting.cpp, by one thread at a time, for one context at a time.
//
// What cupti_range_profiler.h leaves open is relied on here and nowhere else (H100, driver 580): beginning and ending
// wait for all that the context has to do; launches in between are as fast as ever; a profiler that is enabled and not
// begun costs nothing and does not disturb SASS metrics, nor they it as long as only one of them is open. What a range
// says of time is the time from begin() to end(), not the kernel's. What a second
// configuration of the same profiler asked for read 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/cupti/cupti.h"

struct CUpti_Profiler_Host_Object;
struct CUpti_RangeProfiler_Object;

namespace gmt::interposer::collector {

class Counters {
public:
  static constexpr unsigned kFigures = 9; // in the order of kAccessCounters' words P2 to P10

  // The context must be current. `profiler` is the context's own, null at first; kept by the caller, for the calls below.
  Answer begin(const Cupti& cupti, std::uint64_t context, int device, CUpti_RangeProfiler_Object*& profiler) noexcept;
  // `figures` has room for kFigures; null to drop them.
  Answer end(int device, CUpti_RangeProfiler_Object* profiler, std::uint64_t* figures) noexcept;
  void forget(CUpti_RangeProfiler_Object* profiler) noexcept; // before its context ends

private:
  static constexpr int kMostDevices = 64;
  struct Memory {
    std::uint8_t* bytes;
    std::size_t size;
  };
  struct Plan { // of a chip
    CUpti_Profiler_Host_Object* host;
    Memory config;
  };
  Answer know_functions(void* library) noexcept;
  Answer plan(int device) noexcept;
  Answer configure(const Plan& plan, CUpti_RangeProfiler_Object* profiler) noexcept;

  bool knows_functions_ = false;
  Plan plans_[kMostDevices] = {};
  Memory data_ = {}; // of the counters being taken
};

} // namespace gmt::interposer::collector
