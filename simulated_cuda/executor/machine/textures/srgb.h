// SPDX-License-Identifier: Apache-2.0
// Bytes in the encoding of sRGB, as an H100 reads them: by a table of numbers with 8 bits.
#pragma once

#include <cstdint>

namespace gmt::executor {

float linear_of_srgb(std::uint32_t byte); // below 256

} // namespace gmt::executor
