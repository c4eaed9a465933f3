// SPDX-License-Identifier: Apache-2.0
// Hands out our entries where a program asks for CUDA functions by name: dlsym, cuGetProcAddress
// and their like. The request is never interpreted: the real answer is translated, pointer by
// pointer.
#pragma once

#include <cstdint>

namespace gmt::interposer {

// The row's entry if this is a row's real driver function, else the pointer itself.
void* route_driver_pointer(void* function) noexcept;

} // namespace gmt::interposer
