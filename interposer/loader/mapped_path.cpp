// SPDX-License-Identifier: Apache-2.0
// A line is "7f00-7f80 r-xp 00001000 08:01 1234    /usr/lib/libx.so"; what follows the fifth blank
// is the path, in which a line feed is written \012. The kernel adds " (deleted)" where the name is
// gone.
#include "interposer/loader/mapped_path.h"

#include <cstring>

#include "interposer/base/byte_file.h"

namespace gmt::interposer {

namespace {

// The hexadecimal number up to the next other character, which is taken too.
std::uint64_t take_number(ByteFile& file) noexcept {
  std::uint64_t value = 0;
  for (;;) {
    const int c = file.next();
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<unsigned>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

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
  ByteFile maps("/proc/self/maps");
  for (int c = 0; c >= 0;) {
    const std::uint64_t start = take_number(maps), end = take_number(maps);
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

bool is_mapped_writable(std::uint64_t begin, std::uint64_t end) noexcept {
  ByteFile maps("/proc/self/maps");
  std::uint64_t known = begin; // so far; mappings are in order
  for (int c = 0; c >= 0 && known < end;) {
    const std::uint64_t from = take_number(maps), to = take_number(maps);
    const bool may_read = maps.next() == 'r', may_write = maps.next() == 'w';
    if (from <= known && known < to) {
      if (!may_read || !may_write) return false;
      known = to;
    }
    while ((c = maps.next()) >= 0 && c != '\n') {
    }
  }
  return known >= end;
}

} // namespace gmt::interposer
