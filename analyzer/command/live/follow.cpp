// SPDX-License-Identifier: Apache-2.0
// `follow`: answers questions about a process while it runs. A question is a line of JSON on the
// standard input, its answer a line of JSON on the standard output (docs/follow.md). Ends with the
// input, or with the process that started it. Returns 0; a question that is none is a UserError of
// status 2, a process without a trace that is not traced either one of status 3.

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/live/followed_process.h"

namespace gmt {
namespace {

using Json = FollowedProcess::Json;

constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr int kLookForParentMs = 1000;

// Lines of the standard input. They end with it, or when the parent process has ended: a process
// that the parent had forked may hold the other end of the pipe for longer.
class Lines {
public:
  std::optional<std::string> next() {
    while (true) {
      if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      if (read_.size() > kLongestLine)
        throw UserError("a question is longer than 65536 bytes", ExitStatus::kUsage);
      if (!read_more()) return last();
    }
  }

private:
  std::optional<std::string> last() {
    if (read_.empty()) return std::nullopt;
    return std::exchange(read_, {});
  }

  bool read_more() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, kLookForParentMs);
    if (ready == 0) return ::getppid() == parent_;
    if (ready < 0) return errno == EINTR;
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0) return errno == EINTR;
    read_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  const pid_t parent_ = ::getppid();
  std::string read_;
};

[[noreturn]] void no_question(const std::string& line) {
  constexpr std::size_t kShown = 200;
  throw UserError("'" + line.substr(0, kShown) +
                    "' is no question; write a line such as {\"do\": \"snapshot\"}, with one of: "
                    "begin, pause, resume, look, snapshot",
                  ExitStatus::kUsage);
}

Json answer(FollowedProcess& process, const std::string& line) {
  const Json question = Json::parse(line, nullptr, false);
  const auto word = question.is_object() ? question.find("do") : question.end();
  if (word == question.end() || !word->is_string()) no_question(line);
  process.poll();
  if (*word == "look") return process.span_json();
  if (*word == "snapshot") return process.snapshot_json();
  if (*word == "begin") process.begin();
  else if (*word == "pause") process.pause();
  else if (*word == "resume") process.resume();
  else no_question(line);
  return process.process_json();
}

FollowedProcess followed(const std::string& word, const Settings& settings) {
  Suppressions suppressions;
  for (const std::string& file : settings.suppressions) suppressions.add_file(file);
  std::error_code error;
  const auto pid = parse_number<std::uint32_t>(word);
  if (!pid || std::filesystem::exists(word, error))
    return {chosen_trace({word}), std::move(suppressions)};
  TracedProcess process(*pid);
  if (!process.is_traced() && !process.find())
    throw UserError(cat({"process ", word, " is not traced; start it with 'gpumemtrace PROGRAM'"}),
                    ExitStatus::kUnreadableTrace);
  return {std::move(process), std::move(suppressions)};
}

} // namespace

int command_follow(const Settings& settings) {
  if (settings.words.size() != 1)
    throw UserError("follow takes one process or one trace", ExitStatus::kUsage);
  FollowedProcess process = followed(settings.words[0], settings);
  Lines lines;
  while (const std::optional<std::string> line = lines.next()) {
    const std::string text =
      answer(process, *line).dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!write_output(STDOUT_FILENO, "standard output", text + "\n")) return 0;
  }
  return 0;
}

} // namespace gmt
