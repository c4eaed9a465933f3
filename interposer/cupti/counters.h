// SPDX-License-Identifier: Apache-2.0
// CUPTI's Range Profiler as the collector needs it: counters of all that a context does between begin() and end(), in one
// pass. Which counters one pass can hold differs little between chips, so they come in two sets, each for launches of its
// own. Used by counting.cpp, by one thread at a time, for one context at a time.
//
// What cupti_range_profiler.h leaves open is relied on here and nowhere else (H100, driver 580): beginning and ending
// wait for all that the context has to do; launches in between are as fast as ever; a profiler that is enabled and not
// begun costs nothing and does not disturb SASS metrics, nor they it as long as only one of them is open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/cupti/cupti.h"

struct CUpti_Profiler_Host_Object;
struct CUpti_RangeProfiler_Object;

namespace gmt::interposer::collector {

class Counters {
public:
  static constexpr unsigned kSets = 2;
  static constexpr unsigned kMostFigures = 10;
  // Figures of each set, in the order of kAccessCounters' words P2 to P11, and P13.
  static constexpr unsigned kFigures[kSets] = {10, 1};

  // The context must be current. `profiler` is the context's own, null at first; kept by the caller, for the calls below.
  Answer begin(const Cupti& cupti, std::uint64_t context, int device, unsigned set,
               CUpti_RangeProfiler_Object*& profiler) noexcept;
  // `figures` has room for kMostFigures; null to drop them.
  Answer end(int device, unsigned set, CUpti_RangeProfiler_Object* profiler, std::uint64_t* figures) noexcept;
  void forget(CUpti_RangeProfiler_Object* profiler) noexcept; // before its context ends

private:
  static constexpr int kMostDevices = 64;
  struct Memory {
    std::uint8_t* bytes;
    std::size_t size;
  };
  struct Plan { // what a set needs on a chip
    CUpti_Profiler_Host_Object* host;
    Memory config;
  };
  Answer know_functions(void* library) noexcept;
  Answer plan(int device, unsigned set) noexcept;
  Answer configure(const Plan& plan, unsigned set, CUpti_RangeProfiler_Object* profiler) noexcept;

  bool knows_functions_ = false;
  Plan plans_[kMostDevices][kSets] = {};
  Memory data_[kSets] = {}; // of the counters being taken
};

} // namespace gmt::interposer::collector
