// SPDX-License-Identifier: Apache-2.0
// Which file the kernel has mapped at an address: the loader's own name for it may be relative to a
// directory that the program has left since.
#pragma once

#include <cstddef>

namespace gmt::interposer {

// The absolute path into `buffer`; false if no file is mapped there, or its path does not fit.
// Reads /proc/self/maps, which takes as long as the process has mappings.
bool mapped_path(const void* address, char* buffer, std::size_t size) noexcept;

} // namespace gmt::interposer
