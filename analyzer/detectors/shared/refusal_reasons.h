// SPDX-License-Identifier: Apache-2.0
// Why CUDA refused a call, as far as its record and the heap know: limits of launches that every
// device has, memory that is registered already, a prefetch of memory that is not managed. Adds to
// the finding about the call.
#pragma once

#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

void explain_launch(const Event& e, const ProcessFacts& facts, Finding& f);
// Whether the reason is what the kernel may have, which the trace says behind the failed launch.
bool exceeds_kernels_limits(const Event& e);
// `threads`: of a block.
void explain_by_limits(std::uint16_t result, std::uint64_t threads, const LaunchLimits& limits,
                       const ProcessFacts& facts, Finding& f);
void explain_registration(const Event& e, const Heap& heap, const ProcessFacts& facts, Finding& f);
void explain_prefetch(const Event& e, const Heap& heap, const ProcessFacts& facts, Finding& f);

} // namespace gmt
