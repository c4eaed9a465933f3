// SPDX-License-Identifier: Apache-2.0
// Mappings of virtual memory to which no device was ever given access (cuda.h on cuMemMap asks for
// cuMemSetAccess): a copy or set that CUDA refused may have named one.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/finding.h"

namespace gmt {

struct ClosedMapping {
  const Block* block = nullptr;
  std::string_view side; // "destination", "source", "target"
};

// Of a copy or set that was refused; none where it may have been refused for something else.
std::optional<ClosedMapping> closed_mapping_of(const Event& e, const Heap& heap,
                                               const ProcessFacts& facts);
// Adds to the sentence, says what to do, and shows where the mapping was made.
void add_closed_mapping(const ClosedMapping& closed, const ProcessFacts& facts, Finding& f);

} // namespace gmt
