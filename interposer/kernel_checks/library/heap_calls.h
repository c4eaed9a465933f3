// SPDX-License-Identifier: Apache-2.0
// malloc and free of kernels leave records in the device ring, as those that device_hooks compiled
// (docs/device-malloc.md), in both forms of each kernel.
#pragma once

#include <string>

namespace gmt::interposer::kernel_checks {

// The text with logged calls; as it is where it has none, logs them itself, is too old, or has
// debug information.
std::string with_logged_heap(std::string text);

} // namespace gmt::interposer::kernel_checks
