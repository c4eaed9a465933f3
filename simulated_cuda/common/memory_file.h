// SPDX-License-Identifier: Apache-2.0
// Files in memory whose descriptors are none of the standard streams'. A program that has closed
// those would else write its messages into the device's memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace gmt {

// Of zeros; -1 if there can be none, and errno says why. EFBIG: RLIMIT_FSIZE does not allow it. A
// program that grows a file past that limit is killed.
inline int memory_file(const char* name, std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    errno = EFBIG;
    return -1;
  }
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0 && fd <= STDERR_FILENO) {
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    fd = moved;
  }
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

} // namespace gmt
