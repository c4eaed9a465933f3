// SPDX-License-Identifier: Apache-2.0
// The rows of trace/cuda_api.def by name, and their entries.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer {

// Row of an exported name, -1 if it is none.
int row_named(std::string_view name) noexcept;

// Entry of a row; made from the table.
void* entry_of(std::uint16_t row) noexcept;

} // namespace gmt::interposer
