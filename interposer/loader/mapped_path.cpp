// SPDX-License-Identifier: Apache-2.0
// See mapped_path.h. A line is "7f00-7f80 r-xp 00001000 08:01 1234    /usr/lib/libx.so"; what follows the fifth blank is
// the path, in which a line feed is written \012. The kernel adds " (deleted)" where the name is gone.
#include "interposer/loader/mapped_path.h"

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace gmt::interposer {

namespace {

class Maps {
public:
  Maps() noexcept : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~Maps() {
    if (fd_ >= 0) close(fd_);
  }
  Maps(const Maps&) = delete;
  Maps& operator=(const Maps&) = delete;

  int next() noexcept {
    if (at_ == length_) {
      length_ = fd_ >= 0 ? read(fd_, buffer_, sizeof buffer_) : 0;
      at_ = 0;
      if (length_ <= 0) {
        length_ = 0;
        return -1;
      }
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  // The hexadecimal number up to the next other character, which is taken too.
  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (;;) {
      const int c = next();
      if (c >= '0' && c <= '9') {
        value = value << 4 | static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value << 4 | static_cast<unsigned>(c - 'a' + 10);
      } else {
        return value;
      }
    }
  }

private:
  int fd_;
  char buffer_[512];
  ssize_t at_ = 0, length_ = 0;
};

void cut_end(char* path, const char* end) noexcept {
  const std::size_t length = std::strlen(path), cut = std::strlen(end);
  if (length > cut && std::strcmp(path + length - cut, end) == 0) path[length - cut] = '\0';
}

void unescape_line_feeds(char* path) noexcept {
  while ((path = std::strstr(path, "\\012")) != nullptr) {
    *path++ = '\n';
    std::memmove(path, path + 3, std::strlen(path + 3) + 1);
  }
}

} // namespace

bool mapped_path(const void* address, char* buffer, std::size_t size) noexcept {
  const auto wanted = reinterpret_cast<std::uint64_t>(address);
  Maps maps;
  for (int c = 0; c >= 0;) {
    const std::uint64_t start = maps.number(), end = maps.number();
    std::size_t length = 0;
    const bool found = wanted >= start && wanted < end;
    bool in_path = false;
    while ((c = maps.next()) >= 0 && c != '\n') {
      in_path = in_path || c == '/'; // the first one: none stands before a path
      if (found && in_path && length < size) buffer[length++] = static_cast<char>(c);
    }
    if (!found) continue;
    if (length == 0 || length == size) return false;
    buffer[length] = '\0';
    cut_end(buffer, " (deleted)");
    unescape_line_feeds(buffer);
    return true;
  }
  return false;
}

} // namespace gmt::interposer
