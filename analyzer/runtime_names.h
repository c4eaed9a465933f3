// SPDX-License-Identifier: Apache-2.0
// Names the runtime's functions where a statically linked runtime hid them: its calls cannot be intercepted, but its
// symbols stand in the call stack. A program that wrote cudaMalloc then reads cudaMalloc, not cuMemAlloc_v2. Called by
// the report builder once frames are resolved, before they are trimmed.
#pragma once

#include "analyzer/finding.h"

namespace gmt {

void name_runtime_calls(Finding& finding);
void name_runtime_call(LabelledStack& stack);

} // namespace gmt
