// SPDX-License-Identifier: Apache-2.0
// What an image declares, where the executor does not say it: names of kernels, their parameters,
// variables. Nothing is executed, only symbols and declarations are looked at. Sizes inside a cubin
// are trusted as the real driver trusts them: it comes from the program itself.
#pragma once

#include "simulated_cuda/driver/code/image.h"

#include <string_view>

namespace gmt::sim {

void read_cubin(const char* file, Image* image);
void read_ptx_declarations(std::string_view text, Image* image);

} // namespace gmt::sim
