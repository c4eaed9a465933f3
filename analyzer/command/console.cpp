// SPDX-License-Identifier: Apache-2.0
// Writing to descriptors and files; see console.h.

#include "analyzer/command/console.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/report/output_format.h"

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

std::size_t text_width(int descriptor) {
  constexpr std::size_t kNarrowest = 40, kWidest = 200;
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return kFileWidth;
  const char* set = std::getenv("COLUMNS");
  const std::optional<std::uint32_t> given =
    set != nullptr ? parse_number<std::uint32_t>(set) : std::nullopt;
  winsize window = {};
  std::size_t width = kFileWidth;
  if (given && *given != 0) width = *given;
  else if (::ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col != 0)
    width = window.ws_col;
  return std::clamp(width, kNarrowest, kWidest);
}

// No terminal can be asked; those that can say so by a variable of their own.
bool shows_links(int descriptor) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  if (const std::string_view forced = variable("FORCE_HYPERLINK"); !forced.empty())
    return forced != "0";
  if (::isatty(descriptor) == 0 || !variable("TMUX").empty() || !variable("STY").empty())
    return false;
  static constexpr std::array kOwn = {"KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION",
                                      "DOMTERM",         "WEZTERM_PANE",    "ALACRITTY_WINDOW_ID"};
  if (std::ranges::any_of(kOwn, [&](const char* name) { return !variable(name).empty(); }))
    return true;
  static constexpr std::array<std::string_view, 5> kPrograms = {"iTerm.app", "vscode", "ghostty",
                                                                "WezTerm", "Hyper"};
  if (std::ranges::find(kPrograms, variable("TERM_PROGRAM")) != kPrograms.end()) return true;
  constexpr std::uint32_t kFirstVte = 5000;
  return parse_number<std::uint32_t>(variable("VTE_VERSION")).value_or(0) >= kFirstVte ||
         variable("TERM").starts_with("foot");
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
  const bool is_long = format == "html" || format == "perfetto" || format == "pftrace";
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
