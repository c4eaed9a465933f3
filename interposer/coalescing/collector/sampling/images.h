// SPDX-License-Identifier: Apache-2.0
// Saves the code of modules that the program loaded from memory, as image-<n>: it is not on disk
// later. Code that lies in a loaded file (what nvcc embeds) is left there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer::collector {

// After the driver has taken it. `bytes` is 0 if the image's own header has to say.
void save_image(const void* image, std::size_t bytes) noexcept;
void forget_images() noexcept;

// Bytes of an ELF file or of a fat binary, by its header; 0 if it is neither (PTX is text, and no
// code).
std::size_t size_of_image(const void* image) noexcept;

} // namespace gmt::interposer::collector
