// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/run/wait_notices.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace gmt {

namespace {

constexpr std::string_view kWord = "waits\t";

// What stands behind the word and the process.
std::string_view text_of(std::string_view line) {
  if (!line.starts_with(kWord)) return {};
  const std::size_t tab = line.find('\t', kWord.size());
  return tab == line.npos ? std::string_view() : line.substr(tab + 1);
}

} // namespace

std::string WaitNotices::newest() {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  std::string text, found;
  char bytes[4096];
  for (ssize_t got = 0;
       (got = ::pread(file, bytes, sizeof bytes, static_cast<off_t>(read_ + text.size()))) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  ::close(file);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (const std::string_view wait = text_of(line); !wait.empty()) found = wait;
    read_ += line.size() + 1;
  }
  return found;
}

} // namespace gmt
