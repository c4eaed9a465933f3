// SPDX-License-Identifier: Apache-2.0
// Says in words what a trace has lost, and what that means for the findings: lines of the report's
// "not checked".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// trace::LossCause as a number; it may be damaged
std::string_view cause_in_words(std::size_t cause);

// Takes modules whose kernels got no ring out of the losses: they say nothing about the host's
// calls.
void report_lost_rings(ReadStats& stats, Findings& findings);

// Adds what reading the logs cost to the process's losses.
void add_losses(const ReadStats& stats, ProcessReport& process);

// Launches that did not run to their end on the simulated device.
void report_left_out(const ProcessReport& process, Findings& findings);

// The process exited, and a log ends in a record that is not its last: that log was cut, as by a
// copy that was interrupted. Empty if not, else its name.
std::string log_that_was_cut(const ProcessReport& process, const EventStream& stream);

// Records of the process's logs: lost, never finished, damaged, of unknown kinds; and the end of
// the log `cut`.
void report_losses(ProcessReport& process, const ReadStats& stats, const std::string& cut,
                   Findings& findings);

// Records of kernels. Adds them to the process's losses.
void report_device_losses(const DeviceContexts& contexts, const Heap& heap, ProcessReport& process,
                          Findings& findings);

// What the trace never had: names, modules, calls around accepted releases. `nameless`: calls
// without a name.
void report_gaps(const TraceDir& trace, const Heap& heap, const Totals& totals,
                 std::uint64_t nameless, Findings& findings);

} // namespace gmt
