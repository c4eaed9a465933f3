// SPDX-License-Identifier: Apache-2.0

#include "analyzer/trace_reader/facts/last_words.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "analyzer/base/signal_name.h"

namespace gmt {
namespace {

// True while the process that writes this trace is still there: same number and same program on
// this machine.
bool is_running(const TraceInfo& info) {
  if (info.pid == 0 || info.executable.empty()) return false;
  std::error_code error;
  const auto program = std::filesystem::read_symlink(
    std::filesystem::path("/proc") / std::to_string(info.pid) / "exe", error);
  return !error && program == info.executable;
}

std::string name_of_this_host() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// `crash` of `info`: a signal that the program left to the system, which ends it.
Ending ending_of_crash(std::string_view crash) {
  const std::string_view signal = crash.substr(0, crash.find(' '));
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP}) {
    if (signal == signal_name(number)) return {.how = Ending::How::kSignalled, .signal = number};
  }
  return {};
}

} // namespace

void LastWords::follow(const Event& e) {
  const event::Exit& exit = e.exit();
  const trace::ExitWay way = exit.way;
  recorded_ = way != trace::ExitWay::kExecFailed;
  switch (way) {
  case trace::ExitWay::kExit:
  case trace::ExitWay::kUnderscoreExit:
    said_ = {.how = Ending::How::kExited, .status = static_cast<int>(exit.status & 0xff)};
    break;
  case trace::ExitWay::kExec: said_ = {.how = Ending::How::kExec}; break;
  case trace::ExitWay::kExecFailed: said_ = {}; break;
  }
}

// The parent knows best, except that it cannot see an exec: what it saw end was the next program.
Ending LastWords::ending(const TraceDir& trace) const {
  if (said_.how == Ending::How::kExec) return said_;
  if (trace.completion && trace.completion->ending.how != Ending::How::kUnknown)
    return trace.completion->ending;
  if (is_running(trace.info)) return {.how = Ending::How::kRunning};
  // exit() says what it was given before libraries and other threads have come to their end.
  const Ending crash = ending_of_crash(trace.info.crash);
  return crash.how != Ending::How::kUnknown ? crash : said_;
}

// Whether a process on another machine is still there cannot be seen from here.
bool may_be_running(const Ending& ending, const TraceInfo& info) {
  return ending.how == Ending::How::kRunning ||
         (ending.how == Ending::How::kUnknown && info.host != name_of_this_host());
}

} // namespace gmt
