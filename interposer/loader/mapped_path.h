// SPDX-License-Identifier: Apache-2.0
// What the kernel has mapped at an address. Of a file it knows the path, where the loader's own
// name may be relative to a directory that the program has left since. These read /proc/self/maps,
// which takes as long as the process has mappings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// The absolute path into `buffer`; false if no file is mapped there, or its path does not fit.
bool mapped_path(const void* address, char* buffer, std::size_t size) noexcept;

// Whether all pages of [begin, end) may be read and written.
bool is_mapped_writable(std::uint64_t begin, std::uint64_t end) noexcept;

} // namespace gmt::interposer
