// SPDX-License-Identifier: Apache-2.0
// Says in words what part of a trace is gone without being counted as lost.
#pragma once

#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

void report_missing(const ProcessModel& model, const TraceDir& trace, ProcessReport& process,
                    Findings& findings);

// Why stacks lack Python's frames.
void report_python(const TraceDir& trace, Findings& findings);

// Why a fault of a kernel could not be named, though a core dump of the GPU was asked for.
void report_core_dump(const TraceDir& trace, bool is_sticky, Findings& findings);

} // namespace gmt
