// SPDX-License-Identifier: Apache-2.0
// What a mode that was asked for did not see, and why, as lines of the report's "not checked". A
// mode that was not asked for has none.
#pragma once

#include "analyzer/analysis/process_model.h"
#include "analyzer/analysis/process_report.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/facts/executions.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// --coalescing: what was not measured.
void report_access_gaps(const MemoryAccess& access, const TraceDir& trace, ProcessReport& process,
                        Findings& findings);

// --guard: what could not be fenced.
void report_guard_gaps(const ProcessModel& model, const Heap& heap, Findings& findings);

// --kernel-checks: what was left unchecked, by kernel, with the reason and how many launches.
void report_kernel_check_gaps(const Executions& executions, Findings& findings);
// The same of races in global memory on the simulated device.
void report_race_gaps(const Executions& executions, Findings& findings);

// A tensor library took memory of CUDA and said nothing of its tensors.
void report_tensor_gaps(const ProcessModel& model, const Heap& heap, Findings& findings);

} // namespace gmt
