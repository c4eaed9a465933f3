// SPDX-License-Identifier: Apache-2.0
// Writing to descriptors and files; see console.h.

#include "analyzer/command/console.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "analyzer/base/user_error.h"

namespace gmt {

namespace {

UserError cannot_write(std::string_view name, const std::error_code& error) {
  return UserError("cannot write the report to " + std::string(name) + ": " + error.message() +
                     "; free some space or name another place with --output",
                   ExitStatus::kInternal);
}

} // namespace

std::error_code write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return {errno, std::generic_category()};
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

bool write_output(int descriptor, std::string_view name, std::string_view text) {
  // NOLINT: only after the program, which has inherited its own, is gone
  std::signal(SIGPIPE, SIG_IGN);
  const std::error_code error = write_all(descriptor, text);
  if (error == std::errc::broken_pipe) return false;
  if (error) throw cannot_write(name, error);
  return true;
}

OutputFile::OutputFile(const std::string& path, int otherwise)
    : name_(path), descriptor_(otherwise), own_(!path.empty()) {
  if (!own_) {
    name_ = otherwise == STDOUT_FILENO ? "standard output" : "standard error";
    return;
  }
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw UserError("cannot open '" + path +
                      "' for the report: " + std::generic_category().message(errno) +
                      "; name a writable file with --output",
                    ExitStatus::kUsage);
  }
}

OutputFile::~OutputFile() {
  if (own_) ::close(descriptor_);
}

void OutputFile::write(std::string_view text) {
  if (!own_) {
    write_output(descriptor_, name_, text);
    return;
  }
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(descriptor_, 0) != 0)
    throw cannot_write(name_, {errno, std::generic_category()});
  if (const std::error_code error = write_all(descriptor_, text)) throw cannot_write(name_, error);
  // Network file systems report a full disk only when asked to finish; special files refuse to be
  // asked.
  if (S_ISREG(status.st_mode) && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    throw cannot_write(name_, {errno, std::generic_category()});
}

} // namespace gmt
