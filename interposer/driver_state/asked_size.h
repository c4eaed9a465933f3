// SPDX-License-Identifier: Apache-2.0
// How large memory is that another process shared (memory_queries.h), where the driver gives more
// than a program asks for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// From now on this answers in the place of the driver's cuMemGetAddressRange.
using AskRange = int (*)(std::uint64_t* base, std::size_t* bytes, std::uint64_t address);
void ask_ranges_by(AskRange function) noexcept;

} // namespace gmt::interposer
