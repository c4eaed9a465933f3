// SPDX-License-Identifier: Apache-2.0
// Copies of fenced blocks while another device is current. CUDA copies plain memory of any device
// from any context; a mapping only from a context whose device may use it, whatever the stream (two
// H100, driver 580). Copies that name each side's context may, and give no device access that it
// would not have. Memory of a pool is no exception: without access it is refused when plain, too.
#pragma once

#include <cuda.h>

#include "interposer/log/record.h"

namespace gmt::interposer {

// Contexts of a copy's sides.
struct CopyContexts {
  CUcontext current = nullptr;
  CUcontext destination = nullptr, source = nullptr; // null: the current one
  CUcontext only_foreign() const noexcept {          // null: the two sides have one each
    if (destination == nullptr) return source;
    return source == nullptr || source == destination ? destination : nullptr;
  }
};

// False if no fenced block of another device takes part.
bool has_foreign_block(const Record& copy, CopyContexts* contexts) noexcept;

// The same copy between two contexts. `per_thread`: stream 0 is the thread's own.
CUresult copy_between(const Record& copy, const CopyContexts& contexts, bool per_thread) noexcept;

} // namespace gmt::interposer
