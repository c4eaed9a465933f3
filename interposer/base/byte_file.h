// SPDX-License-Identifier: Apache-2.0
// A file read byte by byte through a small buffer: files of /proc have no size, and may be
// megabytes long. Needs no memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace gmt::interposer {

class ByteFile {
public:
  explicit ByteFile(const char* path) noexcept : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~ByteFile() {
    if (fd_ >= 0) close(fd_);
  }
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  bool is_open() const noexcept { return fd_ >= 0; }
  // The next byte; negative at the end, and where the file could not be opened.
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

private:
  int fd_;
  char buffer_[512];
  ssize_t at_ = 0, length_ = 0;
};

} // namespace gmt::interposer
