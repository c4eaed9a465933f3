// SPDX-License-Identifier: Apache-2.0
// What the mode --coalescing did not measure, and why, in the words of the report's "not checked".
// Says nothing unless the mode was asked for.
#pragma once

#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

void report_access_gaps(const MemoryAccess& access, const TraceDir& trace, ProcessReport& process,
                        Findings& findings);

} // namespace gmt
