// SPDX-License-Identifier: Apache-2.0
// Names the runtime's functions as the program wrote them. A statically linked runtime hides them:
// its calls cannot be intercepted, but its symbols stand in the call stack, so that cudaMalloc
// reads cudaMalloc, not cuMemAlloc. CUDA's headers hide others: cudaMallocHost is inline and calls
// cudaHostAlloc. Needs whole stacks, before they are trimmed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/finding.h"

namespace gmt {

// The calls of one finding that the program wrote by other names than were recorded.
struct CallNames {
  struct Renamed {
    std::string recorded, written;
  };
  std::vector<Renamed> renamed;
  bool is_runtime = false; // some of them were recorded as the driver's, and are the runtime's

  // Of the stacks of allocations, in their order: see TensorSite. Empty where it is not known
  std::vector<std::string> tensor_sites = {};

  std::string_view of(std::string_view recorded) const;
};

void name_runtime_call(CallStack& stack);
CallNames name_runtime_calls(Finding& finding);

} // namespace gmt
