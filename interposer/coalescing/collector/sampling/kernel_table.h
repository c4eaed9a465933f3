// SPDX-License-Identifier: Apache-2.0
// The kernels of one context, by handle and by name: how often each was launched, when it is due
// again, and its record in the sums. Two handles of one name are one kernel.
//
// Invariants: finding a known handle takes no lock; a handle is known for the generation of code it
// was met in, because the driver gives handles out again; a kernel once made stays.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/coalescing/collector/sampling/code_bound.h"
#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/windows/sums.h"

namespace gmt::interposer::collector {

struct Kernel {
  std::uint64_t name; // hash
  FunctionRow row;
  bool wanted; // by --kernel, or without one unless it is costly
  bool costly; // to patch: launched in no window unless --kernel names it
  std::atomic<std::uint64_t> launches, next_due, in_window;
  std::atomic<std::uint64_t> met_at; // before its first launch
  bool has_figures;                  // of the window that is being read; under the gate
  std::uint8_t passed_over;          // by windows in a row that it was launched in; under the gate
  CodeBound code;                    // what a launch executes at most
  LaunchTime plain;                  // how long a launch takes by itself
  LaunchTime patched[kParts];        // and the longest one in a window, by Part
  std::atomic<bool> being_timed;     // a launch of it is, by itself
  std::atomic<bool> not_again;       // holding back what came after it was in vain once
  // What the next launch that is due is for: 0 instructions, n pass n - 1 of its counters
  std::atomic<std::uint8_t> turn;
  trace::Slot* counters; // its kAccessCounters, null at first; under the gate
};

class Kernels {
public:
  // Null if the driver does not say its name, or there is no room for it.
  Kernel* of(std::uint64_t function, Sums& sums) noexcept {
    Kernel* known = find(function);
    return known != nullptr ? known : learn(function, sums);
  }
  Kernel* named(const char* name) noexcept;
  Kernel* begin() noexcept { return kernels_; }
  Kernel* end() noexcept { return kernels_ + count_.load(std::memory_order_acquire); }

  static constexpr unsigned kMost = 1 << 13;

private:
  static constexpr unsigned kHandles = 1 << 14;
  static constexpr unsigned kProbes = 8;
  struct Handle { // `key` is the handle mixed with the generation
    std::atomic<std::uint64_t> key;
    std::atomic<Kernel*> kernel;
  };

  Kernel* find(std::uint64_t function) noexcept;
  Kernel* learn(std::uint64_t function, Sums& sums) noexcept;

  std::atomic<bool> learning_{false};
  std::atomic<unsigned> count_{0};
  Kernel kernels_[kMost] = {};
  Handle handles_[kHandles] = {};
};

// Reads --kernel; once, before the first launch.
void choose_kernels(const char* pattern) noexcept;

// Whether code may be loaded that CUPTI takes many seconds to patch (trace/costly_kernels.h).
bool costly_code_is_loaded() noexcept;

} // namespace gmt::interposer::collector
