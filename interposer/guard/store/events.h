// SPDX-License-Identifier: Apache-2.0
// Events behind the work of streams, used again and again. Each belongs to a context and ends with
// it.
#pragma once

#include <cuda.h>

namespace gmt::interposer {

// Recorded behind the stream's work so far; null if CUDA refuses.
CUevent event_behind(CUstream stream) noexcept;
void keep_event(CUevent event) noexcept;
void forget_events() noexcept;

} // namespace gmt::interposer
