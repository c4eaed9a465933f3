// SPDX-License-Identifier: Apache-2.0
#include "interposer/base/log_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gmt::interposer {

bool within_file_size_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return true;
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

int make_room(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const int error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (error != EPERM && error != ENOSYS && error != EOPNOTSUPP && error != EINVAL)
    return system_error(error);
  return write_zeros(fd, offset, bytes);
}

int write_zeros(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  static constinit char zeros[1 << 20] = {}; // a page of zeros in truth: it is never written
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t rest = bytes - done;
    const ssize_t n = pwrite(fd, zeros, rest < sizeof zeros ? rest : sizeof zeros,
                             static_cast<off_t>(offset + done));
    if (n <= 0) return n < 0 ? errno : EIO;
    done += static_cast<std::uint64_t>(n);
  }
  return 0;
}

trace::LossCause cause_of(int error) noexcept {
  switch (error) {
  case EDQUOT: return trace::LossCause::kTraceLimit;
  case ENOSPC:
  case EFBIG:
  case ENOMEM: return trace::LossCause::kNoSpace;
  case EMFILE:
  case ENFILE: return trace::LossCause::kNoDescriptors;
  default: return trace::LossCause::kRefused;
  }
}
int system_error(int error) noexcept { return error == EDQUOT ? ENOSPC : error; }

} // namespace gmt::interposer
