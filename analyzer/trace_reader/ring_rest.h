// SPDX-License-Identifier: Apache-2.0
// What a process left in a ring when it died (trace/FORMAT.md, "Device rings"): its records, as the
// process would have moved them into a log.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/ring_reader.h"

namespace gmt {

struct RingRest {
  std::vector<trace::Slot> slots;
  std::uint64_t lost = 0; // since the ring's beginning
  std::uint64_t torn = 0;
};

// `ring` is a writable mapping or copy of a ring that ring_is_sound(); its records are zeroed.
// `known` are the tickets behind the last record that was moved already, by sub-ring; it may be
// empty. Those records are left out.
RingRest take_rest(void* ring, std::span<const std::uint64_t> known = {});

// The kDeviceDrained record that stands behind them.
trace::Slot drained_slot(const trace::RingHeader& ring, const RingRest& rest);

} // namespace gmt
