// SPDX-License-Identifier: Apache-2.0
// What a kernel does, by its own instructions, with the memory behind each of its parameters that
// is a pointer. What is said is certain where the instruction runs; what is not said may still
// happen: behind a call, or through a pointer that was not followed. Nothing is said of a kernel
// that may wait for others or let others know how far it is, by atomic, volatile or other strong
// accesses, fences or calls: what it does is ordered by more than its launch.
#pragma once

#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

struct PointerUse {
  bool is_read = false, is_written = false;
  // Each address is the pointer plus constants and numbers of the thread and its block, so that two
  // kernels begin at the same place. False if a size, a stride or what memory holds goes in.
  bool is_by_position = false;
};

// One for each of Function::parameters. Of a parameter that is not a pointer alone nothing is said.
std::vector<PointerUse> pointer_uses_of(const Module& module, const Function& kernel,
                                        const Body& body);

} // namespace gmt::ptx
