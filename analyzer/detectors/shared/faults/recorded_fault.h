// SPDX-License-Identifier: Apache-2.0
// A fault that the simulated device recorded, as a finding. The heap says which memory its address
// means.
#pragma once

#include <cstdint>
#include <span>

#include "analyzer/detectors/detector.h"

namespace gmt {

// `arguments` are the launch's, as far as they are known.
Finding finding_of(const Event& fault, const Heap& heap, const ProcessFacts& facts,
                   Arguments arguments);
// The freed memory that an access used; null if it used none.
const Block* freed_block_of(const Event& fault, const Heap& heap);

} // namespace gmt
