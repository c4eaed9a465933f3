// SPDX-License-Identifier: Apache-2.0
// What the first lines of a PTX text ask for, and whether an H100's driver takes it: which versions
// of PTX there are, and for which device it is.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

namespace gmt::sim {

// CUDA_SUCCESS, also of a text whose header cannot be read: its syntax is another question. Else
// `errors` is what the driver's compiler says. `most_target`: such as 90.
CUresult check_ptx_header(std::string_view text, unsigned most_target, std::string* errors);

} // namespace gmt::sim
