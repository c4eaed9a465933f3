// SPDX-License-Identifier: Apache-2.0
// The four warps that multiply together by wgmma. A GPU computes a product for all of them at once,
// so that none has waited for it while another one still reads.
#pragma once

namespace gmt::executor {

struct Instruction;
struct Warp;

// At wgmma.wait_group, which all four execute: the whole warp is here. Where it goes on; null: it
// waits for the others.
const Instruction* meet_warpgroup(Warp& w, const Instruction* in);

} // namespace gmt::executor
