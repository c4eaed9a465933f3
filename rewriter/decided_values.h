// SPDX-License-Identifier: Apache-2.0
// Loads whose value certainly decides something: on each way from there the code comes to a branch,
// an address or a computed value that is stored, which depends on it. Unwritten bytes are a mistake
// there, and what is only moved, or not used on some way, is none. The rules are those of the
// executor (docs/simulated-device.md, "Values that nothing wrote"), seen from the load.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

// For each instruction, if it is a load: a bit for each of its results, from the first, that
// decides something if none of its bytes is written.
std::vector<std::uint32_t> decided_results(const ptx::Module& module, const ptx::Body& body);

} // namespace gmt::rewriter
