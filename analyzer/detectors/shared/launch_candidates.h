// SPDX-License-Identifier: Apache-2.0
// Which launches a faulting grid may be of: those of its kernel and extents whose number in the
// context does not exceed the grid's id, which counts the launches and whatever else takes ids.
// Those that the host does not know to be done come before all others. Equal call stacks are one
// candidate; two are two.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/model/core_dump.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct LaunchCandidate {
  const LoggedLaunch* launch = nullptr; // of the kernel, or of a graph
  const LoggedLaunch* made = nullptr;   // of a graph: what gave it the kernel
};

// Newest first; `kernel` is linked, extents of 0 are not known. At most `most`.
std::vector<LaunchCandidate> launch_candidates(std::string_view kernel, const Extents& grid,
                                               const Extents& block, std::uint64_t grid_id,
                                               const ProcessFacts& facts, std::size_t most);

void add_stacks(Finding& f, const LaunchCandidate& candidate, const TraceNames& names);

} // namespace gmt
