// SPDX-License-Identifier: Apache-2.0
// `top`: what the processes of a run hold now, from their traces on disk, while they run. Ends with
// the last process, or at a signal. With --once it prints one picture. Returns 0; a run that has no
// trace is a UserError.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "analyzer/base/user_error.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/live/live_report.h"
#include "analyzer/command/live/live_traces.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval{1000};

// All processes of a run, those that are started later, too.
class Run {
public:
  explicit Run(const TraceHead& first)
      : folder_(first.path.has_parent_path() ? first.path.parent_path() : fs::path(".")),
        first_(first.path), run_(first.info.run) {}

  std::vector<LiveProcess> figures() {
    look_for_processes();
    std::vector<LiveProcess> all;
    for (auto& [path, view] : views_) {
      view->poll();
      all.push_back(view->figures());
    }
    std::ranges::stable_sort(all, {}, [](const LiveProcess& p) {
      return std::pair(p.info.rank.value_or(0), p.info.realtime_ns);
    });
    return all;
  }

private:
  void look_for_processes() {
    add(first_);
    if (run_.empty()) return;
    for (const TraceHead& trace : find_traces(folder_)) {
      if (trace.info.run == run_) add(trace.path);
    }
  }
  void add(const fs::path& path) {
    const std::string key = path.lexically_normal().string();
    if (views_.contains(key)) return;
    Expected<TraceDir> trace = open_trace(path);
    if (trace) views_.emplace(key, std::make_unique<LiveView>(*trace));
  }

  fs::path folder_, first_;
  std::string run_;
  std::map<std::string, std::unique_ptr<LiveView>> views_; // by path
};

std::string picture_of(const std::vector<LiveProcess>& processes, const Settings& settings,
                       double seconds) {
  if (settings.format == "json") return live_json(processes);
  if (settings.format == "prometheus") return live_prometheus(processes);
  return live_text(processes, seconds);
}

bool all_ended(const std::vector<LiveProcess>& processes) {
  return std::ranges::all_of(processes, &LiveProcess::has_ended);
}

} // namespace

int command_top(const Settings& settings) {
  if (settings.words.size() > 1)
    throw UserError("top takes one process or one trace", ExitStatus::kUsage);
  Run run(chosen_trace(settings.words));
  OutputFile output(settings.output, STDOUT_FILENO);
  Clock::time_point before = Clock::now();
  std::vector<LiveProcess> processes = run.figures();
  if (processes.empty()) no_trace("this run");
  if (!settings.once && output.is_file())
    throw UserError("a file takes one picture: add --once", ExitStatus::kUsage);
  if (settings.once) {
    output.write(picture_of(processes, settings, 0));
    return 0;
  }
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  double seconds = 0;
  while (true) {
    // The whole screen anew on a terminal, else one picture below the other.
    const std::string begin = is_terminal ? "\033[H\033[2J" : "";
    if (!write_output(STDOUT_FILENO, "standard output",
                      begin + picture_of(processes, settings, seconds)))
      return 0;
    if (all_ended(processes)) return 0;
    std::this_thread::sleep_for(kInterval);
    const Clock::time_point now = Clock::now();
    seconds = std::chrono::duration<double>(now - before).count();
    before = now;
    processes = run.figures();
  }
}

} // namespace gmt
