// SPDX-License-Identifier: Apache-2.0
// The link is made first: whatever moment the process is killed at, no file is left without its
// link.
#include "interposer/device_ring/memory.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interposer/base/text_file.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr std::size_t kPathBytes = 4200;

bool link_path(unsigned number, char* path) noexcept {
  char name[32];
  std::snprintf(name, sizeof name, "device-%u.ring", number);
  return Process::path_of(name, path, kPathBytes);
}

// The whole of the file or nothing of it.
bool map_whole(int fd, std::size_t bytes, RingMemory& memory) noexcept {
  if (!fits_file_size_limit(fd, bytes) || posix_fallocate(fd, 0, static_cast<off_t>(bytes)) != 0)
    return false;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return false;
  madvise(map, bytes, MADV_DONTFORK);
  memory.base = static_cast<char*>(map);
  memory.bytes = bytes;
  return true;
}

bool make_shared(RingMemory& memory, std::size_t bytes) noexcept {
  char link[kPathBytes], file[64];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::snprintf(file, sizeof file, "/dev/shm/gpumemtrace.%d.%lx%08lx.%u", Process::pid(),
                now.tv_sec, now.tv_nsec, memory.number);
  if (!link_path(memory.number, link) || symlink(file, link) != 0) return false;
  const int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool made = fd >= 0 && map_whole(fd, bytes, memory);
  if (fd >= 0) close(fd);
  if (fd >= 0 && !made) unlink(file);
  if (!made) unlink(link);
  return made;
}

bool make_private(RingMemory& memory, std::size_t bytes) noexcept {
  const int fd = memfd_create("gpumemtrace-ring", MFD_CLOEXEC);
  if (fd < 0) return false;
  const bool made = map_whole(fd, bytes, memory);
  close(fd);
  return made;
}

} // namespace

bool make_ring_memory(RingMemory& memory, std::size_t bytes, unsigned number) noexcept {
  memory = {};
  memory.number = number;
  return make_shared(memory, bytes) || make_private(memory, bytes);
}

void renumber_ring_memory(RingMemory& memory, unsigned number) noexcept {
  char before[kPathBytes], after[kPathBytes];
  if (link_path(memory.number, before) && link_path(number, after)) rename(before, after);
  memory.number = number;
}

void drop_ring_memory(RingMemory& memory) noexcept {
  char link[kPathBytes], file[64];
  munmap(memory.base, memory.bytes);
  if (!link_path(memory.number, link)) return;
  const ssize_t length = readlink(link, file, sizeof file - 1);
  if (length > 0) {
    file[length] = '\0';
    unlink(file);
  }
  unlink(link);
}

} // namespace gmt::interposer
