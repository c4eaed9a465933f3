// SPDX-License-Identifier: Apache-2.0
// Products by wgmma that take registers which no wgmma.fence has handed over. ptxas puts a fence
// there, and says so (C7519). Only what is sure is named: a value that the same basic block has
// computed or loaded behind a wgmma.wait_group, with no fence since that wait. Compilers move
// computations behind a fence, and between the products of a group, but no fence or wait past
// another. Values are followed through moves, which stand anywhere, and constants are none.
#pragma once

#include "ptx/flow/flow.h"

#include <cstdint>
#include <vector>

namespace gmt::executor {

// Numbers of instructions, rising.
std::vector<std::uint32_t> unfenced_products(const ptx::Body& body, const ptx::Flow& flow);

} // namespace gmt::executor
