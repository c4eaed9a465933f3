// SPDX-License-Identifier: Apache-2.0
// `top`: what the processes of a run hold now, from their traces on disk, while they run. Ends with
// the last process, at a key or at a signal. With --once it prints one picture. Returns 0; a run
// that has no trace is a UserError.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/user_error.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/live/live_report.h"
#include "analyzer/command/live/live_traces.h"
#include "analyzer/command/live/terminal_keys.h"
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

  // Of what has come until now, or (`reads_on` false) until the last time.
  std::vector<LiveProcess> figures(const HolderChoice& choice, bool reads_on, bool waits) {
    if (reads_on) look_for_processes();
    std::vector<LiveProcess> all;
    for (auto& [path, view] : views_) {
      if (reads_on) view->poll();
      all.push_back(view->figures(choice));
      add_devices(all.back(), waits);
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

  // The machine's GPUs, if the process runs here.
  void add_devices(LiveProcess& process, bool waits) {
    if (process.info.device != "real" || process.info.host != host_name() || process.has_ended)
      return;
    const std::map<int, DeviceTotal> totals = devices_.now(waits);
    if (totals.empty()) return;
    const std::string visible = environment_of(process.info.pid, "CUDA_VISIBLE_DEVICES");
    const std::string order = environment_of(process.info.pid, "CUDA_DEVICE_ORDER");
    for (const LiveMemory& row : process.memory) {
      const std::optional<int> gpu = gpu_of(row.device, visible, order, totals.size());
      if (gpu && totals.contains(*gpu)) process.devices[row.device] = totals.at(*gpu);
    }
  }

  fs::path folder_, first_;
  std::string run_;
  DeviceTotals devices_;
  std::map<std::string, std::unique_ptr<LiveView>> views_; // by path
};

std::string picture_of(const std::vector<LiveProcess>& processes, const Settings& settings,
                       double seconds, const TopView& view) {
  if (settings.format == "json") return live_json(processes);
  if (settings.format == "prometheus") return live_prometheus(processes);
  return live_text(processes, seconds, view);
}

bool all_ended(const std::vector<LiveProcess>& processes) {
  return std::ranges::all_of(processes, &LiveProcess::has_ended);
}

bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

void keep_history(const std::vector<LiveProcess>& processes, TopView& view) {
  for (const LiveProcess& process : processes) {
    std::deque<std::uint64_t>& figures = view.history[process.trace];
    figures.push_back(process.totals.live_bytes);
    if (figures.size() > TopView::kHistory) figures.pop_front();
  }
}

std::vector<trace::MemoryKind> kinds_of(const std::vector<LiveProcess>& processes) {
  std::set<trace::MemoryKind> kinds;
  for (const LiveProcess& process : processes)
    kinds.insert(process.kinds.begin(), process.kinds.end());
  return {kinds.begin(), kinds.end()};
}

// Picture after picture until the last process ends, or a key or a reader that is gone ends it.
class Screen {
public:
  Screen(Run& run, const Settings& settings)
      : run_(run), settings_(settings), is_text_(settings.format == "text") {
    look(true);
    if (processes_.empty()) no_trace("this run");
  }

  void show() {
    const TerminalKeys keys;
    view_.with_keys = keys.is_on() && is_text_;
    view_.draws_blocks = is_utf8();
    while (draw() && !all_ended(processes_) && wait(keys)) {
    }
    if (!keys.is_on()) return;
    view_.rows = 0;
    view_.with_keys = false;
    last_ = picture_of(processes_, settings_, seconds_, view_);
  }

  // The terminal's own screen is back: what was seen last stays on it.
  const std::string& last() const { return last_; }

private:
  void look(bool reads_on) {
    const Clock::time_point now = Clock::now();
    if (reads_on) {
      const bool is_first = looked_ == Clock::time_point();
      seconds_ = is_first ? 0 : std::chrono::duration<double>(now - looked_).count();
      looked_ = now;
    }
    processes_ = run_.figures(view_.choice, reads_on, false);
    if (reads_on) keep_history(processes_, view_);
  }

  // The whole screen anew on a terminal, else one picture below the other.
  bool draw() {
    const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
    view_.width = is_terminal ? text_width(STDOUT_FILENO) : TopView().width;
    view_.rows = is_terminal ? window_rows() : 0;
    const std::string begin = is_terminal ? "\033[H\033[2J" : "";
    return write_output(STDOUT_FILENO, "standard output",
                        begin + picture_of(processes_, settings_, seconds_, view_));
  }

  // Until the next look, a key or a new size of the window. False to end.
  bool wait(const TerminalKeys& keys) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(due_ - Clock::now());
    const TopKey key = top_key(keys.wait(std::clamp(left, milliseconds(0), kInterval)));
    if (key == TopKey::kQuit) return false;
    std::vector<std::uint32_t> pids;
    for (const LiveProcess& process : processes_) pids.push_back(process.info.pid);
    apply_key(key, kinds_of(processes_), pids, view_);
    const bool is_due = Clock::now() >= due_;
    if (is_due) due_ = Clock::now() + kInterval;
    const bool reads_on = is_due && !view_.is_paused;
    if (reads_on || key != TopKey::kNone) look(reads_on);
    return true;
  }

  Run& run_;
  const Settings& settings_;
  const bool is_text_;
  TopView view_;
  std::vector<LiveProcess> processes_;
  std::string last_;
  Clock::time_point looked_, due_ = Clock::now() + kInterval;
  double seconds_ = 0;
};

} // namespace

int command_top(const Settings& settings) {
  if (settings.words.size() > 1)
    throw UserError("top takes one process or one trace", ExitStatus::kUsage);
  Run run(chosen_trace(settings.words));
  OutputFile output(settings.output, STDOUT_FILENO);
  if (!settings.once && output.is_file())
    throw UserError("a file takes one picture: add --once", ExitStatus::kUsage);
  if (!settings.once) {
    Screen screen(run, settings);
    screen.show();
    write_output(STDOUT_FILENO, "standard output", screen.last());
    return 0;
  }
  const std::vector<LiveProcess> processes = run.figures({}, true, true);
  if (processes.empty()) no_trace("this run");
  TopView view;
  if (::isatty(output.descriptor()) != 0) view.width = text_width(output.descriptor());
  output.write(picture_of(processes, settings, 0, view));
  return 0;
}

} // namespace gmt
