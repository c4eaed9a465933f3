// SPDX-License-Identifier: Apache-2.0
// The four warps that multiply together by wgmma. A GPU computes a product for all of them at once:
// none begins before the others are there, and none has waited while another one still reads.
// CUTLASS's kernels have no other barrier between what these warps store and their products.
#pragma once

namespace gmt::executor {

struct Instruction;
struct Warp;

// At wgmma.fence and wgmma.wait_group, which all four execute: the whole warp is here. Where it
// goes on; null: it waits for the others.
const Instruction* meet_warpgroup(Warp& w, const Instruction* in);

} // namespace gmt::executor
