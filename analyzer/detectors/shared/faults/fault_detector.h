// SPDX-License-Identifier: Apache-2.0
// Faults of kernels as findings, for one kind of finding: those that the simulated device recorded,
// and those of GPUs' core dumps, of which the heap decides what their addresses mean.
#pragma once

#include <memory>
#include <string_view>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/faults/fault_words.h"

namespace gmt {

// The kind is one of fault_kinds.
std::unique_ptr<Detector> make_fault_detector(const ProcessFacts& facts, std::string_view kind);

} // namespace gmt
