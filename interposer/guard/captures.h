// SPDX-License-Identifier: Apache-2.0
// Streams that capture. While one does, allocations stay plain, and what is freed waits for the
// capture's end: CUDA forbids or defers there what the fence needs.
#pragma once

#include <cuda.h>

namespace gmt::interposer {

bool any_capture() noexcept;
void capture_begins(CUstream stream) noexcept;
void capture_ends(CUstream stream) noexcept; // or the stream itself
// What CUDA answers now to a call that it may forbid while streams capture; 0 if it allows it.
int refusal_while_capturing() noexcept;
void forget_captures() noexcept;

} // namespace gmt::interposer
