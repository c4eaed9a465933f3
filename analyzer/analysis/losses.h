// SPDX-License-Identifier: Apache-2.0
// Says in words what a trace has lost, and what that means for the findings: lines of the report's "not checked".
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/analysis/event_stream.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

std::string_view cause_in_words(std::size_t cause); // trace::LossCause as a number; it may be damaged

// Records of the process's logs: lost, never finished, damaged, of unknown kinds.
void explain_losses(const ProcessReport& process, const ReadStats& stats, Findings& findings);

// Records of kernels. Adds them to the process's losses.
void explain_device_losses(const DeviceHeaps& heaps, const Heap& heap, ProcessReport& process, Findings& findings);

// What the trace never had: names, modules, calls around accepted releases. `nameless`: calls without a name.
void explain_gaps(const TraceDir& trace, const Heap& heap, const Totals& totals, std::uint64_t nameless,
                  Findings& findings);

} // namespace gmt
