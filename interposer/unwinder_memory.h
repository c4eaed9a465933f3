// SPDX-License-Identifier: Apache-2.0
// Takes from libunwind the pipe that it tests memory with. Used by unwinder.cpp.
#pragma once

namespace gmt::interposer {

// Called once with the handle of the library that was just opened, before its first use.
void keep_unwinder_off_descriptors(void* library) noexcept;

} // namespace gmt::interposer
