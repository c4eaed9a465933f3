// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/code_claim.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include "interposer/kernel_checks/library/wait_notice.h"

namespace gmt::interposer::kernel_checks {

namespace {

// Of the process, so a forked child does not keep it. What the kernel says: 0, or an errno.
int try_to_lock(int file) noexcept {
  struct flock all{};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return fcntl(file, F_SETLK, &all) == 0 ? 0 : errno;
}

} // namespace

CodeClaim::CodeClaim(std::string path, std::chrono::milliseconds most) noexcept
    : path_(std::move(path)) {
  constexpr std::chrono::milliseconds kPause{20};
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file_ < 0) return;
  const auto deadline = std::chrono::steady_clock::now() + most;
  std::optional<WaitNotice> notice;
  for (;;) {
    const int error = try_to_lock(file_);
    if (error == 0) return;
    // Some folders of a network have no locks.
    const bool has_other = error == EAGAIN || error == EACCES;
    if (!has_other || std::chrono::steady_clock::now() >= deadline) break;
    if (!notice) notice.emplace("waiting for another process that compiles kernels with checks");
    std::this_thread::sleep_for(kPause);
  }
  close(file_);
  file_ = -1;
}

// Who waits has the same file open, and looks into the cache once more.
void CodeClaim::end() noexcept {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
  file_ = -1;
}

} // namespace gmt::interposer::kernel_checks
