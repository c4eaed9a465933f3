// SPDX-License-Identifier: Apache-2.0
// Writes the text files of a trace without stdio streams or the heap: a small buffer and write(2).
// Escapes what trace/FORMAT.md escapes. A failed write leaves good() false, and errno says why.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interposer/base/byte_file.h"

namespace gmt::interposer {

// What stands behind the backslash for a character that the text files of a trace escape
// (trace/FORMAT.md); 0 for others.
inline char escape_letter(char c) noexcept {
  switch (c) {
  case '\\': return '\\';
  case '\n': return 'n';
  case '\r': return 'r';
  case '\t': return 't';
  default: return '\0';
  }
}

// Whether `length` more bytes may be written. One byte too many is not refused but ends the program
// by SIGXFSZ.
inline bool fits_file_size_limit(int fd, std::size_t length) noexcept {
  rlimit limit{};
  struct stat file{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return fstat(fd, &file) == 0 &&
         static_cast<std::uint64_t>(file.st_size) + length <= limit.rlim_cur;
}

// Makes the file: what is there already, a link included, is another's.
class TextFile {
public:
  explicit TextFile(const char* path) noexcept
      : fd_(open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (fd_ < 0) error_ = errno;
  }
  ~TextFile() {
    flush();
    if (fd_ >= 0) close(fd_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  bool good() noexcept {
    flush();
    if (error_ != 0) errno = error_;
    return error_ == 0;
  }
  void line(const char* text) noexcept {
    put(text);
    put('\n');
  }
  void text(const char* key, const char* value) noexcept {
    put(key);
    put('=');
    put_escaped(value);
    put('\n');
  }
  void number(const char* key, std::uint64_t value) noexcept {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%lu", value);
    text(key, digits);
  }
  void number(const char* key, std::uint64_t major, std::uint64_t minor) noexcept {
    char digits[48];
    std::snprintf(digits, sizeof digits, "%lu.%lu", major, minor);
    text(key, digits);
  }

  // argc and arg.<n> of this process, as the kernel keeps them.
  void arguments() noexcept {
    ByteFile words("/proc/self/cmdline");
    if (!words.is_open()) return;
    unsigned count = 0;
    bool begin = true;
    for (int c; (c = words.next()) >= 0;) {
      if (begin) {
        char key[24];
        std::snprintf(key, sizeof key, "arg.%u=", count++);
        put(key);
      }
      begin = c == '\0';
      if (begin) {
        put('\n');
      } else {
        put_escaped(static_cast<char>(c));
      }
    }
    if (!begin) put('\n');
    number("argc", count);
  }

private:
  void put(char c) noexcept {
    if (used_ == sizeof buffer_) flush();
    buffer_[used_++] = c;
  }
  void put(const char* text) noexcept {
    for (; *text != '\0'; ++text) put(*text);
  }
  void put_escaped(char c) noexcept {
    const char letter = escape_letter(c);
    if (letter != '\0') put('\\');
    put(letter != '\0' ? letter : c);
  }
  void put_escaped(const char* text) noexcept {
    for (; *text != '\0'; ++text) put_escaped(*text);
  }
  void flush() noexcept {
    if (error_ == 0 && !fits_file_size_limit(fd_, used_)) error_ = EFBIG;
    for (std::size_t done = 0; error_ == 0 && done < used_;) {
      const ssize_t n = write(fd_, buffer_ + done, used_ - done);
      if (n <= 0) error_ = n < 0 ? errno : ENOSPC;
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    used_ = 0;
  }

  int fd_;
  int error_ = 0; // of the first write that failed
  std::size_t used_ = 0;
  char buffer_[1024];
};

} // namespace gmt::interposer
