// SPDX-License-Identifier: Apache-2.0
// What the driver says of its devices and their memory, beside the calls: a kDevice record when a
// device is first met, a kMemoryInfo record when an allocation failed. Asks only what stream
// capture allows: attributes, names, sizes and cuMemGetInfo. (A pool's attributes are not among
// them: asking ends a capture.)
#pragma once

#include <cstdint>

namespace gmt::interposer {

class ThreadLog;

// Once per device and process; needs a driver that has been initialized.
void describe_device(ThreadLog& log, int ordinal) noexcept;
void append_memory_info(ThreadLog& log, std::uint16_t context) noexcept;
void forget_devices() noexcept; // a forked child describes them anew

} // namespace gmt::interposer
