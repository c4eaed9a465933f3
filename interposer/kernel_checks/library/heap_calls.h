// SPDX-License-Identifier: Apache-2.0
// malloc and free of kernels leave records in the device ring, as those that device_hooks compiled
// (docs/device-malloc.md), in both forms of each kernel.
#pragma once

#include <string>

#include "interposer/kernel_checks/library/heap_blocks.h"

namespace gmt::interposer::kernel_checks {

// The text with logged calls; as it is where it has none, logs them itself, is too old, or has
// debug information. `use`: what its kernels do with the heap then.
std::string with_logged_heap(std::string text, HeapUse& use);

} // namespace gmt::interposer::kernel_checks
