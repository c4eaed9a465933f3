// SPDX-License-Identifier: Apache-2.0
// Instructions that wait until lanes of the warp are there which they name.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// True once where the lanes that are waited for will never come, which is reported: `in` goes on
// without them. Where the warp returns to `in` for another reason (the lanes have come, or others
// arrive there), it is to look again who is there.
inline bool goes_on_without(Warp& w, const Instruction* in) {
  if (w.forced != in) return false;
  w.forced = nullptr;
  return true;
}

} // namespace gmt::executor
