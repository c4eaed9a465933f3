// SPDX-License-Identifier: Apache-2.0
// What only the driver knows of memory that was made elsewhere: the size of what another process
// shared, the location of imported physical memory, the size of a variable and whether it is
// managed. Pure queries that neither wait nor disturb a stream capture.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gmt::interposer {

// Bytes of the block that begins at this address, 0 if the driver knows none that does.
std::uint64_t ask_bytes(std::uint64_t address) noexcept;
// Whose variable: which of the driver's three functions knows it.
enum class VariableOf : std::uint8_t { kModule, kLibrary, kLibraryManaged };
// Bytes of a variable; 0 if the driver does not say.
std::uint64_t ask_bytes_of_variable(VariableOf owner, std::uint64_t module,
                                    const char* name) noexcept;
// Whether managed memory lies there.
bool ask_is_managed(std::uint64_t address) noexcept;
// Where physical memory lies; false if the driver does not say.
bool ask_location(std::uint64_t handle, CUmemLocation& location) noexcept;

} // namespace gmt::interposer
