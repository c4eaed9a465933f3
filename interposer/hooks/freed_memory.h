// SPDX-License-Identifier: Apache-2.0
// Memory of CUDA's that the program hands to the C library's free() or realloc(), which may end the
// process: it is recorded before the real call; registered memory, which they may take, when it has
// gone. `caller` is who called, `frame` the hook's own.
#pragma once

#include <cstddef>

namespace gmt::interposer {

// May be memory of CUDA's (may_be_followed), so look.
void record_freed(void* pointer, const void* caller, const void* frame) noexcept;

using Realloc = void*(void*, std::size_t);
void* record_and_realloc(void* pointer, std::size_t bytes, Realloc* real, const void* caller,
                         const void* frame) noexcept;

} // namespace gmt::interposer
