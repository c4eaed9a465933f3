// SPDX-License-Identifier: Apache-2.0
// What follows from a kernel's counters: rates and means, each empty where nothing was counted. Used by the outputs.
#pragma once

#include <optional>

#include "analyzer/access_log.h"

namespace gmt {

// `a` / `b`; empty for b 0.
inline std::optional<double> ratio_of(double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; }

inline double microseconds(const KernelCounters& c) { // a launch
  return static_cast<double>(c.nanoseconds) / 1000 / static_cast<double>(c.launches);
}
// Bytes a second between the chip and its memory.
inline std::optional<double> bandwidth(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.read_bytes + c.written_bytes) * 1e9, static_cast<double>(c.nanoseconds));
}
inline std::optional<double> share_of_peak(const KernelCounters& c) {
  return ratio_of(bandwidth(c).value_or(0), static_cast<double>(c.peak_bytes));
}
inline std::optional<double> l1_hit_rate(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.l1_hits), static_cast<double>(c.l1_sectors));
}
// Hits and sectors were counted in different launches. Those of one kernel differ a little, and a rate of more than 1
// is none.
inline std::optional<double> l2_hit_rate(const KernelCounters& c) {
  const auto hits = ratio_of(static_cast<double>(c.l2_hits), static_cast<double>(c.l2_launches));
  const auto sectors = ratio_of(static_cast<double>(c.l2_sectors), static_cast<double>(c.launches));
  if (!hits || !sectors) return std::nullopt;
  const auto rate = ratio_of(*hits, *sectors);
  return rate && *rate > 1 ? std::optional(1.0) : rate;
}
inline std::optional<double> sectors_a_load(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.load_sectors), static_cast<double>(c.loads));
}
inline std::optional<double> sectors_a_store(const KernelCounters& c) {
  return ratio_of(static_cast<double>(c.store_sectors), static_cast<double>(c.stores));
}

} // namespace gmt
