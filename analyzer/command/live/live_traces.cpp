// SPDX-License-Identifier: Apache-2.0
// The environment of a process is what it was when the process started, and some programs write
// over it. So that of the command itself counts as well: a process that asks about itself passes it
// on.

#include "analyzer/command/live/live_traces.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

std::string own_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// What the process has said of its trace: that it is elsewhere, because the folder could not be
// written, or that there is none.
std::optional<TraceHead> noted_trace(std::uint32_t pid) {
  for (const std::string& file :
       {own_environment("GPUMEMTRACE_NOTES"), environment_of(pid, "GPUMEMTRACE_NOTES")}) {
    if (file.empty()) continue;
    for (const Note& note : read_notes(file)) {
      if (static_cast<std::uint32_t>(note.pid) != pid) continue;
      if (note.word == "nodir")
        throw UserError("process " + std::to_string(pid) + " can make no trace: " + note.text,
                        ExitStatus::kUnreadableTrace);
      if (note.word == "moved" && is_trace(note.text)) return read_head(note.text);
    }
  }
  return std::nullopt;
}

// gpumemtrace.<program>.<host>.<pid>, and behind it perhaps a number.
bool may_be_of(const std::string& name, std::uint32_t pid) {
  const std::string word = "." + std::to_string(pid);
  return name.starts_with("gpumemtrace.") &&
         (name.ends_with(word) || name.find(word + ".") != std::string::npos);
}

TraceHead newest_in(const fs::path& folder, const std::string& what) {
  std::vector<TraceHead> traces = newest_run(folder);
  if (traces.empty()) no_trace(what);
  return std::move(traces.front());
}

} // namespace

std::string environment_of(std::uint32_t pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return {};
}

std::vector<fs::path> trace_folders_of(std::uint32_t pid) {
  std::vector<fs::path> folders{"."};
  for (const std::string& folder :
       {own_environment("GPUMEMTRACE_DIR"), environment_of(pid, "GPUMEMTRACE_DIR")}) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  std::error_code error;
  const fs::path cwd = fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", error);
  if (!error) folders.push_back(cwd);
  return folders;
}

void no_trace(const std::string& what) {
  throw UserError("no trace of " + what +
                    "; name a process that gpumemtrace started, or a folder "
                    "gpumemtrace.<program>.<host>.<pid>",
                  ExitStatus::kUnreadableTrace);
}

TracedProcess::TracedProcess(std::uint32_t pid) : pid_(pid) {
  for (std::string run :
       {own_environment("GPUMEMTRACE_RUN"), environment_of(pid, "GPUMEMTRACE_RUN")}) {
    if (!run.empty()) runs_.insert(std::move(run));
  }
}

std::optional<TraceHead> TracedProcess::find() const {
  std::optional<TraceHead> newest;
  for (const fs::path& folder : trace_folders_of(pid_)) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (!may_be_of(it->path().filename().string(), pid_) || !is_trace(it->path())) continue;
      TraceHead head = read_head(it->path());
      const bool is_its = head.info.pid == pid_ && (!is_traced() || runs_.contains(head.info.run));
      const bool is_newer = !newest || head.info.realtime_ns > newest->info.realtime_ns;
      if (is_its && is_newer) newest = std::move(head);
    }
    if (newest) return newest;
  }
  return noted_trace(pid_);
}

TraceHead chosen_trace(const std::vector<std::string>& words) {
  if (words.empty()) return newest_in(".", "a run in the current directory");
  const std::string& word = words[0];
  std::error_code error;
  if (is_trace(word)) return read_head(word);
  if (fs::is_directory(word, error)) return newest_in(word, "a run in " + word);
  const auto pid = parse_number<std::uint32_t>(word);
  if (!pid) no_trace("'" + word + "'");
  std::optional<TraceHead> trace = TracedProcess(*pid).find();
  if (!trace) no_trace("process " + word);
  return std::move(*trace);
}

} // namespace gmt
