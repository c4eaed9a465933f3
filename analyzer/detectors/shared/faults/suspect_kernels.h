// SPDX-License-Identifier: Apache-2.0
// Which kernels may have ended a context, where nothing but a call's answer says that one did: the
// newest launches that are not known to be done, with the memory that they were given. Arguments
// are kept of the newest launches alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/given_memory.h"
#include "analyzer/detectors/shared/faults/recent_arguments.h"
#include "analyzer/model/finding.h"

namespace gmt {

// Before a process has a second context its calls name none, or the first one.
constexpr std::uint16_t context_number(std::uint16_t context) { return context == 0 ? 1 : context; }

class SuspectKernels {
public:
  explicit SuspectKernels(const ProcessFacts& facts) : facts_(facts) {}

  void remember(const Event& launch) { arguments_.remember(launch); } // that CUDA accepted

  struct Found {
    // "; kernels that may have been running: fill(float*, int); the only memory ..."; empty if none
    Text words;
    std::vector<FindingStack> stacks; // launches, then memory
  };
  // `e` is the call that reported the error.
  Found find(const Event& e, const Heap& heap) const;

private:
  std::vector<LaunchCandidate> candidates(const Event& e, const Heap& heap) const;
  std::string names(const Event& e, const std::vector<LaunchCandidate>& all) const;
  GivenMemory memory_of(const LaunchCandidate& candidate, const Heap& heap) const;

  const ProcessFacts& facts_;
  RecentArguments arguments_;
};

} // namespace gmt
