// SPDX-License-Identifier: Apache-2.0
// What our private libunwind calls of the C library, led through us: no descriptors, no lock held
// over a fork.
#pragma once

namespace gmt::interposer {

// Called once with the handle of the library that was just opened, before its first use.
void redirect_unwinder_imports(void* library) noexcept;

} // namespace gmt::interposer
