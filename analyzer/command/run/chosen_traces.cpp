// SPDX-License-Identifier: Apache-2.0
// Choice of traces; see chosen_traces.h.

#include "analyzer/command/run/chosen_traces.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "analyzer/command/command.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/run/core_dumps.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

// The traces of the folder's newest run; which they are is said.
void add_newest(const fs::path& folder, std::vector<TraceHead>& chosen) {
  std::vector<TraceHead> traces = newest_run(folder);
  if (traces.empty()) return;
  for (TraceHead& trace : traces) trace.path = trace.path.lexically_normal();
  std::string text = "reading the newest trace, " + traces.front().path.string();
  if (traces.size() > 1)
    text += ", and " + std::to_string(traces.size() - 1) + " more of the same run";
  say(text);
  std::ranges::move(traces, std::back_inserter(chosen));
}

// A folder that is no trace, not even a damaged one.
bool is_other_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !is_trace(path) && !fs::exists(path / "apis", error);
}

bool is_closed(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder, error) && ::access(folder.c_str(), R_OK | X_OK) != 0 &&
         errno == EACCES;
}

// The folder itself or a trace in it that this user may not read; empty if there is none.
fs::path closed_folder(const fs::path& folder) {
  if (is_closed(folder)) return folder;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const bool is_trace_name = it->path().filename().string().starts_with("gpumemtrace.");
    if (is_trace_name && is_closed(it->path())) return it->path().lexically_normal();
  }
  return {};
}

void add_traces(const fs::path& path, std::vector<TraceHead>& chosen) {
  if (is_pack(path)) {
    for (const fs::path& trace : unpacked_traces(path)) chosen.push_back(read_head(trace));
    return;
  }
  const std::size_t before = chosen.size();
  if (!is_trace(path)) add_newest(path, chosen);
  if (chosen.size() != before) return;
  if (const fs::path closed = closed_folder(path); !closed.empty()) {
    throw UserError(
      "cannot read " + closed.string() +
        ": Permission denied; a trace belongs to the user who made it: read it as that "
        "user, or let others read it (chmod -R a+rX)",
      ExitStatus::kUnreadableTrace);
  }
  if (is_other_folder(path)) {
    throw UserError(
      "no trace in " + (path == "." ? "the current directory" : path.string()) +
        "; name a folder gpumemtrace.<program>.<host>.<pid>, or one that holds such folders",
      ExitStatus::kUnreadableTrace);
  }
  chosen.push_back(read_head(path)); // a trace, or an error that names it
}

// A trace that is named twice, in whatever spelling, is one process.
void keep_each_once(std::vector<TraceHead>& traces) {
  std::set<fs::path> seen;
  std::erase_if(traces, [&seen](const TraceHead& trace) {
    std::error_code error;
    const fs::path canonical = fs::canonical(trace.path, error);
    return !seen.insert(error ? trace.path : canonical).second;
  });
}

} // namespace

std::vector<TraceHead> chosen_traces(const std::vector<std::string>& words) {
  std::vector<TraceHead> traces;
  if (words.empty()) add_traces(".", traces);
  for (const std::string& word : words) add_traces(word, traces);
  keep_each_once(traces);
  for (TraceHead& trace : traces) {
    for (const std::string& problem : {collect_rings(trace.path), collect_core_dumps(trace)}) {
      if (!problem.empty()) say(problem);
    }
  }
  return traces;
}

std::vector<TraceDir> opened_traces(std::vector<TraceHead> heads) {
  std::vector<TraceDir> traces;
  for (TraceHead& head : heads) traces.push_back(open_trace(std::move(head)).value());
  return traces;
}

} // namespace gmt
