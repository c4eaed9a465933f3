// SPDX-License-Identifier: Apache-2.0
// What is known of a fault that the simulated device or a check in a kernel recorded: the record,
// and the memory that its address means.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/detectors/shared/faults/recorded_evidence.h"

namespace gmt {

struct RecordedFacts {
  // All that is given outlives it.
  RecordedFacts(const Event& event, const Heap& heap, const ProcessFacts& names,
                Arguments arguments);

  std::string_view said() const { return names.text(record.message); } // by the device
  std::uint64_t bytes() const { return std::max<std::uint64_t>(1, record.bytes); }
  // The device refused a use of live memory, all of it: it is another device's.
  bool is_out_of_reach() const {
    return record.fault == trace::FaultKind::kOutOfBounds && device >= 0 && owner >= 0 &&
           device != owner;
  }
  // No race, but nothing that orders the two.
  bool is_volatile() const { return is_volatile_race(event, said()); }
  bool is_unfenced() const { return is_unfenced_use(event, said()); }
  bool is_apart() const { return is_barrier_apart(event, said()); }
  bool is_of_rest() const { return is_barrier_of_rest(event, said()); }

  const Event& event;
  const event::Fault& record;
  const ProcessFacts& names;
  const std::vector<KernelLine> lines;
  const std::string kernel; // as a sentence names it
  MemoryAround around;
  int device = -1, owner = -1; // that ran the kernel, and of memory that it used; -1: not known
  StrayAddress stray;          // where no memory is around
  std::optional<Argument> parameter; // that is misaligned itself
};

std::string_view access_word(trace::FaultAccess access); // "load"; empty if it is not known

// The sentence of the finding.
Text message_of(const RecordedFacts& fault);

} // namespace gmt
