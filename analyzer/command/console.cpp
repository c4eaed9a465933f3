// SPDX-License-Identifier: Apache-2.0
// Writing to descriptors and files; see console.h.

#include "analyzer/command/console.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"

namespace gmt {

namespace {

UserError cannot_write(std::string_view what, std::string_view name, const std::error_code& error,
                       std::string_view advice) {
  return UserError(cat({"cannot write ", what, " ", name, ": ", error.message(), advice}),
                   ExitStatus::kInternal);
}

UserError cannot_write_report(std::string_view name, const std::error_code& error) {
  return cannot_write("the report to", name, error,
                      "; free some space or name another place with --output");
}

// Of a pipe.
bool has_reader(const std::error_code& error) { return error != std::errc::broken_pipe; }

std::error_code write_stream(int descriptor, std::string_view text) {
  // NOLINT: only after the program, which has inherited its own, is gone
  std::signal(SIGPIPE, SIG_IGN);
  return write_all(descriptor, text);
}

// With O_EXCL: not where a link points that leads to no file.
int open_new(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

// Whether the path still names the file of the descriptor, and it is empty.
bool is_empty_at(const std::string& path, int descriptor) {
  struct stat there = {}, here = {};
  return ::fstat(descriptor, &here) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino && here.st_size == 0;
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
  const std::error_code error = write_stream(descriptor, text);
  if (error && has_reader(error)) throw cannot_write("to", name, error, "; free some space");
  return has_reader(error);
}

OutputFile::OutputFile(const std::string& path, int otherwise)
    : name_(path), descriptor_(otherwise), own_(!path.empty()) {
  if (!own_) {
    name_ = otherwise == STDOUT_FILENO ? "standard output" : "standard error";
    return;
  }
  descriptor_ = open_new(path);
  is_new_ = descriptor_ >= 0;
  if (!is_new_) descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw UserError("cannot open '" + path +
                      "' for the report: " + std::generic_category().message(errno) +
                      "; name a writable file with --output",
                    ExitStatus::kUsage);
  }
}

OutputFile::~OutputFile() {
  if (!own_) return;
  if (is_new_ && is_empty_at(name_, descriptor_)) ::unlink(name_.c_str());
  ::close(descriptor_);
}

void OutputFile::refuse_on_terminal(std::string_view format) const {
  const bool is_long = format == "html" || format == "perfetto";
  if (own_ || !is_long || ::isatty(descriptor_) == 0) return;
  throw UserError(
    cat({"a report in ", format,
         " is nothing to read on a terminal; write it to a file: ", "--format ", format, "=FILE"}),
    ExitStatus::kUsage);
}

void OutputFile::write(std::string_view text) {
  if (!own_) {
    const std::error_code error = write_stream(descriptor_, text);
    if (error && has_reader(error)) throw cannot_write_report(name_, error);
    return;
  }
  struct stat status = {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(descriptor_, 0) != 0)
    throw cannot_write_report(name_, {errno, std::generic_category()});
  if (const std::error_code error = write_all(descriptor_, text))
    throw cannot_write_report(name_, error);
  // Network file systems report a full disk only when asked to finish; special files refuse to be
  // asked.
  if (S_ISREG(status.st_mode) && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    throw cannot_write_report(name_, {errno, std::generic_category()});
}

} // namespace gmt
