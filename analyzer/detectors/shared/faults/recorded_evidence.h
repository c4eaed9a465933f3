// SPDX-License-Identifier: Apache-2.0
// What a record of the simulated device says of a fault, as evidence for advice.
#pragma once

#include <string_view>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/detectors/shared/faults/fault_advice.h"

namespace gmt {

std::string_view space_word(trace::FaultSpace space); // "shared"
bool is_global_space(trace::FaultSpace space);

// Dynamic shared memory for which the launch gave no bytes.
bool is_empty_array(const Event& fault);
// Global memory through a null pointer.
bool is_null_access(const Event& fault);
// In a thread's local memory, by an address that is one of global memory for the instruction.
bool is_in_local_window(const Event& fault);

FaultEvidence evidence_of(const Event& fault, std::string_view kind, const MemoryAround& around,
                          const StrayAddress& stray, const ProcessFacts& facts);

} // namespace gmt
