// SPDX-License-Identifier: Apache-2.0
// Names the runtime's functions as the program wrote them. A statically linked runtime hides them: its calls cannot
// be intercepted, but its symbols stand in the call stack, so that cudaMalloc reads cudaMalloc, not cuMemAlloc.
// CUDA's headers hide others: cudaMallocHost is inline and calls cudaHostAlloc. Frames must be resolved, and not
// trimmed yet.
#pragma once

#include "analyzer/model/finding.h"

namespace gmt {

void name_runtime_calls(Finding& finding);
void name_runtime_call(LabelledStack& stack);

} // namespace gmt
