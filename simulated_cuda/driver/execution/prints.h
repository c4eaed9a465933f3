// SPDX-License-Identifier: Apache-2.0
// Text of printf() in kernels. It appears where CUDA's does: when the host waits for the device,
// launches or copies, and not at all if the program ends without. Driver lock held.
#pragma once

#include <string>

namespace gmt::sim {

void keep_print(const std::string& text);
void flush_prints();

} // namespace gmt::sim
