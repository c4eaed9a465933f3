// SPDX-License-Identifier: Apache-2.0
// What every file of the collector reaches: the core's functions, and what measures. Set once, by
// begin_collector(), before anything else runs.
#pragma once

#include "interposer/coalescing/collector/interface.h"

namespace gmt::interposer::collector {

extern const CoreFunctions* core;

class InstructionMetrics;
class KernelCounters;
struct Profilers {
  InstructionMetrics* metrics;
  KernelCounters* counters;
};
extern Profilers profilers;

const CollectorFunctions* begin_collector(const CoreFunctions& core,
                                          const Profilers& profilers) noexcept;

inline constexpr int kLockMilliseconds = 100; // the longest wait for a lock of the collector

} // namespace gmt::interposer::collector
