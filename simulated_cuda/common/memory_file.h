// SPDX-License-Identifier: Apache-2.0
// Files in memory whose descriptors are none of the standard streams'. A program that has closed
// those would else write its messages into the device's memory.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gmt {

// Empty; -1 if there can be none, and errno says why.
inline int memory_file(const char* name) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return moved;
}

} // namespace gmt
