// SPDX-License-Identifier: Apache-2.0
// Says in words what part of a trace is gone without being counted as lost.
#pragma once

#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

void explain_missing(const ProcessModel& model, const TraceDir& trace, ProcessReport& process,
                     Findings& findings);

} // namespace gmt
