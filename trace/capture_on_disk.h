// SPDX-License-Identifier: Apache-2.0
// A captured launch in a file: how it is read. The path may lead to anything.
//
// Invariants: nothing is waited for, and no more memory is taken than this machine has: a file is
// refused that holds more than a fourth of it (trace/capture_file.h).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/capture_file.h"

namespace gmt::trace {

inline std::uint64_t most_bytes_of_capture() {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 30, kShare = 4;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return kMost;
  return std::min(kMost,
                  static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / kShare);
}

// Appends so many bytes, or what there is; false: errno says why not.
inline bool append_from_file(int file, std::size_t bytes, std::string* to) {
  const std::size_t begin = to->size();
  to->resize(begin + bytes);
  std::size_t done = 0;
  ssize_t n = 1;
  while (done < bytes && n > 0) {
    n = read(file, to->data() + begin + done, bytes - done);
    if (n < 0 && errno == EINTR) n = 1;
    else if (n > 0) done += static_cast<std::size_t>(n);
  }
  to->resize(begin + done);
  return n >= 0;
}

inline std::string why_unreadable(int file, std::uint64_t limit, std::string* bytes) {
  struct stat is{};
  if (file < 0 || fstat(file, &is) != 0) return std::strerror(errno);
  if (!S_ISREG(is.st_mode)) return "it is no file";
  const auto size = static_cast<std::uint64_t>(is.st_size);
  const std::uint64_t head = std::min<std::uint64_t>(size, kCaptureHead.size());
  if (!append_from_file(file, head, bytes)) return std::strerror(errno);
  if (*bytes != kCaptureHead) return {}; // which the reader says
  if (size > ZSTD_compressBound(limit)) return "it is larger than can be read";
  return append_from_file(file, size - head, bytes) ? "" : std::strerror(errno);
}

// False: `error` says in half a sentence what is wrong.
inline bool read_capture_file(const std::string& path, Capture* capture, std::string* error) {
  const std::uint64_t limit = most_bytes_of_capture();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // it may be a pipe
  std::string bytes;
  *error = why_unreadable(file, limit, &bytes);
  if (file >= 0) close(file);
  return error->empty() && read_capture(bytes, limit, capture, error);
}

} // namespace gmt::trace
