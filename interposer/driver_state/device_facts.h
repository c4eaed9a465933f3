// SPDX-License-Identifier: Apache-2.0
// What the driver says of its devices and their memory, beside the calls: a kDevice record when a
// device is first met, a kMemoryInfo record when an allocation failed, a kLaunchLimits record when
// a launch did. Asks only what stream capture allows: attributes, names, sizes and cuMemGetInfo. (A
// pool's attributes are not among them: asking ends a capture.)
#pragma once

#include <cstdint>

namespace gmt::interposer {

class ThreadLog;

// Once per device and process; needs a driver that has been initialized.
void describe_device(ThreadLog& log, int ordinal) noexcept;
void append_memory_info(ThreadLog& log, std::uint16_t context) noexcept;
// What a launch asked for.
struct LaunchRequest {
  std::uint64_t shared_bytes; // dynamic
  unsigned grid[3], block[3];
};
// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
constexpr bool may_exceed_limits(std::uint16_t result) noexcept {
  return result == 1 || result == 701;
}
// Behind a launch that failed so: the order that it has, and its kernel (a CUfunction or CUkernel).
void append_launch_limits(ThreadLog& log, std::uint64_t launch, std::uint64_t function,
                          const LaunchRequest& request) noexcept;
void forget_devices() noexcept; // a forked child describes them anew

} // namespace gmt::interposer
