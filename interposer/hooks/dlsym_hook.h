// SPDX-License-Identifier: Apache-2.0
// Hands out our entries where a program asks for CUDA functions by name: dlsym, cuGetProcAddress and their like.
// The request is never interpreted: the real answer is translated, pointer by pointer.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer {

// The row's entry if this is a row's real driver function, else the pointer itself.
void* route_driver_pointer(void* function) noexcept;

// Row of an exported name, -1 if it is none.
int row_named(std::string_view name) noexcept;

// Entry of a row; filled by exports.cpp from the table.
void* entry_of(std::uint16_t row) noexcept;

} // namespace gmt::interposer
