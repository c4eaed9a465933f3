// SPDX-License-Identifier: Apache-2.0
// Whether a tensor library took memory of CUDA and said nothing of its tensors.
#pragma once

#include "analyzer/analysis/process_model.h"
#include "analyzer/detectors/detector.h"

namespace gmt {

void report_tensor_gaps(const ProcessModel& model, const Heap& heap, Findings& findings);

} // namespace gmt
