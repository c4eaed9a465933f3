// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/ring_rest.h"

#include "trace/records.h"

namespace gmt {

RingRest take_rest(void* ring, std::span<const std::uint64_t> known) {
  RingRest rest;
  const trace::RingHeader header = trace::ring_header(ring);
  for (unsigned i = 0; i < header.sub_rings; ++i) {
    trace::SubRingReader reader(ring, i);
    const std::uint64_t first = i < known.size() ? known[i] : 0;
    const auto take = [&](const trace::RingRecord& record) {
      if (record.ticket() < first) return;
      rest.slots.resize(rest.slots.size() + record.slots());
      record.copy_to(rest.slots.data() + rest.slots.size() - record.slots());
    };
    rest.lost += reader.lost();
    rest.torn += reader.drain_rest(take, first).torn;
  }
  return rest;
}

trace::Slot drained_slot(const trace::RingHeader& ring, const RingRest& rest) {
  trace::Slot drained{};
  drained.head = trace::pack({trace::Kind::kDeviceDrained, 1, trace::kNoApi, 0, 0});
  drained.context = static_cast<std::uint16_t>(ring.context);
  trace::SlotWords words{drained};
  trace::DeviceDrainedFields(words).slots(rest.slots.size()).lost(rest.lost).torn(rest.torn);
  return drained;
}

} // namespace gmt
