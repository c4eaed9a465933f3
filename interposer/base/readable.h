// SPDX-License-Identifier: Apache-2.0
// Whether an address can be read, asked of the kernel without a descriptor.
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

namespace gmt::interposer {

// rt_sigprocmask reads the new mask before it refuses an unknown operation: EFAULT means an
// unreadable address. Changes errno.
inline bool is_readable(const void* address) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{7};
  return syscall(SYS_rt_sigprocmask, ~0, word, nullptr, 8) == 0 || errno != EFAULT;
}

} // namespace gmt::interposer
