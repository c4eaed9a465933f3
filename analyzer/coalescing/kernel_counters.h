// SPDX-License-Identifier: Apache-2.0
// What follows from a kernel's counters: means of a launch and rates, each empty where it was not
// counted.
//
// Not all figures are of the same launches (access_log.h), so rates are those of means.
#pragma once

#include <algorithm>
#include <optional>

#include "analyzer/trace_reader/access_log.h"

namespace gmt {

// `a` / `b`; empty for b 0.
inline std::optional<double> ratio_of(double a, double b) {
  return b > 0 ? std::optional(a / b) : std::nullopt;
}

// A launch.
inline std::optional<double> mean(const KernelCounters::Figure& figure) {
  return ratio_of(static_cast<double>(figure.sum), static_cast<double>(figure.launches));
}
inline std::optional<double> rate(const KernelCounters::Figure& a,
                                  const KernelCounters::Figure& b) {
  const std::optional<double> of_a = mean(a), of_b = mean(b);
  return of_a && of_b ? ratio_of(*of_a, *of_b) : std::nullopt;
}

inline std::optional<double> l1_hit_rate(const KernelCounters& c) {
  return rate(c.l1_hits, c.l1_sectors);
}
// Hits and lookups are of different launches, so that there may be more of the former (Nsight
// Compute shows that too).
inline std::optional<double> l2_hit_rate(const KernelCounters& c) {
  const std::optional<double> hits = rate(c.l2_hits, c.l2_sectors);
  return hits ? std::optional(std::min(*hits, 1.0)) : std::nullopt;
}
inline std::optional<double> sectors_a_load(const KernelCounters& c) {
  return rate(c.load_sectors, c.loads);
}
inline std::optional<double> sectors_a_store(const KernelCounters& c) {
  return rate(c.store_sectors, c.stores);
}

// From and to the device's memory.
inline std::optional<double> moved_bytes(const KernelCounters& c) {
  const std::optional<double> read = mean(c.read_bytes), written = mean(c.written_bytes);
  return read && written ? std::optional(*read + *written) : std::nullopt;
}
inline std::optional<double> bytes_a_second(const KernelCounters& c) {
  const std::optional<double> moved = moved_bytes(c), nanoseconds = mean(c.nanoseconds);
  return moved && nanoseconds ? ratio_of(*moved * 1e9, *nanoseconds) : std::nullopt;
}
// Of what the device's memory can move at its best.
inline std::optional<double> share_of_peak(const KernelCounters& c) {
  const std::optional<double> moved = moved_bytes(c), possible = mean(c.possible_bytes);
  return moved && possible ? ratio_of(*moved, *possible) : std::nullopt;
}

} // namespace gmt
