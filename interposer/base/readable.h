// SPDX-License-Identifier: Apache-2.0
// Memory of this process that may not be there: the kernel looks at it, without a descriptor.
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gmt::interposer {

// rt_sigprocmask reads the new mask before it refuses an unknown operation: EFAULT means an
// unreadable address. Changes errno.
inline bool is_readable(const void* address) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{7};
  return syscall(SYS_rt_sigprocmask, ~0, word, nullptr, 8) == 0 || errno != EFAULT;
}

// How many bytes could be read; negative with errno EFAULT if none, with another one if the kernel
// does not let us look (seccomp). syscall() reads whole words, so that its arguments are such.
inline long read_memory(void* to, std::uint64_t address, std::size_t bytes) noexcept {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1L, &there, 1L, 0L);
}

// 0 if it cannot be read.
inline std::uint64_t word_at(std::uint64_t address) noexcept {
  std::uint64_t word = 0;
  return read_memory(&word, address, sizeof word) == static_cast<long>(sizeof word) ? word : 0;
}

} // namespace gmt::interposer
