// SPDX-License-Identifier: Apache-2.0
// What --guard could not fence, and why.
#pragma once

#include "analyzer/analysis/process_model.h"
#include "analyzer/detectors/detector.h"

namespace gmt {

void report_guard_gaps(const ProcessModel& model, const Heap& heap, Findings& findings);

} // namespace gmt
