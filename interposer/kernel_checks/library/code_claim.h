// SPDX-License-Identifier: Apache-2.0
// Which process compiles an image's text, where several load it at once: the others wait for what
// it keeps in the cache.
//
// Invariants: a process that ends, however it does, has no claim any more, and neither has a forked
// child. Who cannot claim a text compiles it, too: it is only done twice then.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace gmt::interposer::kernel_checks {

// A lock of a file. The kernel frees it when the process ends, or closes the file.
class CodeClaim {
public:
  CodeClaim() = default;
  // Waits while another process has the claim, at most so long. It may have none then.
  CodeClaim(std::string path, std::chrono::milliseconds most) noexcept;
  ~CodeClaim() { end(); }
  CodeClaim(CodeClaim&& other) noexcept
      : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  CodeClaim& operator=(CodeClaim&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(file_, other.file_);
    return *this;
  }
  bool is_held() const noexcept { return file_ >= 0; }
  void end() noexcept;

private:
  std::string path_;
  int file_ = -1;
};

} // namespace gmt::interposer::kernel_checks
