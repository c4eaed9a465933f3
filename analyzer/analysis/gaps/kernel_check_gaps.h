// SPDX-License-Identifier: Apache-2.0
// What --kernel-checks left unchecked, as lines of "not checked": by kernel, with the reason and
// how many launches.
#pragma once

#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/facts/executions.h"

namespace gmt {

void report_kernel_check_gaps(const Executions& executions, Findings& findings);
// The same of races in global memory on the simulated device.
void report_race_gaps(const Executions& executions, Findings& findings);

} // namespace gmt
