// SPDX-License-Identifier: Apache-2.0
// What follows from a kernel's counters: rates and means, each empty where nothing was counted. Used by the outputs.
#pragma once

#include <optional>

#include "analyzer/access_log.h"

namespace gmt {

// `a` / `b`; empty for b 0.
inline std::optional<double> ratio_of(double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; }

// A launch.
inline double mean_of(std::uint64_t sum, const KernelCounters& c) {
  return static_cast<double>(sum) / static_cast<double>(c.launches);
}
inline std::optional<double> l1_hit_rate(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.l1_hits), static_cast<double>(c.l1_sectors));
}
inline std::optional<double> sectors_a_load(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.load_sectors), static_cast<double>(c.loads));
}
inline std::optional<double> sectors_a_store(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.store_sectors), static_cast<double>(c.stores));
}

} // namespace gmt
