// SPDX-License-Identifier: Apache-2.0
// Why CUDA refused a call, as far as its record and the heap know: limits of launches that every
// device has, memory that is registered already, a prefetch of memory that is not managed. Adds to
// the finding about the call.
#pragma once

#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

// A launch that CUDA refused. Extents y and z of grids, and those of blocks, are 16 bits of what
// the program asked for: `limits` has all of them.
struct RefusedLaunch {
  explicit RefusedLaunch(const Event& e);
  std::uint64_t order, function;
  trace::Index3 grid, block;
  std::uint16_t result;
};

void diagnose_launch(const RefusedLaunch& launch, const LaunchLimits& limits,
                     const ProcessFacts& facts, Finding& f);
void diagnose_registration(const Event& e, const Heap& heap, const ProcessFacts& facts, Finding& f);
void diagnose_prefetch(const Event& e, const Heap& heap, const ProcessFacts& facts, Finding& f);

} // namespace gmt
