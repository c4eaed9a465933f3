// SPDX-License-Identifier: Apache-2.0
// Adds up what a process did, event by event, and what is alive at its end.
#pragma once

#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/heap/heap.h"
#include "analyzer/heap/nvtx_ranges.h"
#include "analyzer/model/event.h"

namespace gmt {

void count(Totals& totals, const Event& e);
// Behind Heap::apply(): the ranges in which most device memory was alive.
void note_peak_range(Totals& totals, const Event& e, const Heap& heap, const Ranges& ranges);
void finish_totals(Totals& totals, const Heap& heap, const EndOfTrace& end);

} // namespace gmt
