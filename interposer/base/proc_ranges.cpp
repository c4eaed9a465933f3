// SPDX-License-Identifier: Apache-2.0
// Fields of /proc/self/stat are counted from 1, as proc(5) does; the second, the program's name,
// may hold spaces and parentheses.
#include "interposer/base/proc_ranges.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gmt::interposer {

namespace {

constexpr unsigned kFirstFieldBehindName = 3, kStartStack = 28, kStartBreak = 47;

// Further growth of the heap that is certainly not the GPU's. The driver maps device heaps and
// local memory from 8 GiB on, and a program at a fixed address has its heap behind its image, below
// 1 GiB.
constexpr std::uint64_t kRoom = std::uint64_t{1} << 30;

// A thread's stack without a limit is as large as the kernel's default.
constexpr std::uint64_t kDefaultStack = 8 << 20;
// Arguments and environment lie above where the stack starts; part of them
constexpr std::uint64_t kArguments = 128 << 10;

} // namespace

HostRanges host_ranges() noexcept {
  char text[2048];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return {};
  text[n] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr) return {};
  std::uint64_t start_stack = 0, start_break = 0;
  for (unsigned field = kFirstFieldBehindName; (at = std::strchr(at, ' ')) != nullptr; ++field) {
    ++at;
    if (field == kStartStack) start_stack = std::strtoull(at, nullptr, 10);
    if (field == kStartBreak) start_break = std::strtoull(at, nullptr, 10);
  }
  HostRanges ranges;
  if (start_break != 0) {
    ranges.heap_begin = start_break;
    ranges.heap_end = reinterpret_cast<std::uint64_t>(sbrk(0)) + kRoom;
  }
  if (start_stack != 0) {
    rlimit limit{};
    const bool limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kRoom;
    ranges.stack_begin = start_stack - (limited ? limit.rlim_cur : kDefaultStack);
    ranges.stack_end = start_stack + kArguments;
  }
  return ranges;
}

} // namespace gmt::interposer
