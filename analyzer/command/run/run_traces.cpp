// SPDX-License-Identifier: Apache-2.0
// Finding and finishing the traces of a run; see run_traces.h.

#include "analyzer/command/run/run_traces.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <tuple>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_lines.h"
#include "trace/format.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNotes = 100'000;

void add_trace(const fs::path& path, std::vector<TraceHead>& traces) {
  if (is_trace(path)) traces.push_back(read_head(path));
}

void sort_by_age(std::vector<TraceHead>& traces) {
  std::sort(traces.begin(), traces.end(), [](const TraceHead& a, const TraceHead& b) {
    return std::tie(a.info.realtime_ns, a.path) < std::tie(b.info.realtime_ns, b.path);
  });
}

bool is_of(const TraceHead& trace, pid_t pid, const std::string& host) {
  return static_cast<pid_t>(trace.info.pid) == pid && trace.info.host == host;
}

// Why it could not be written; empty on success.
std::string write_complete(const fs::path& trace, const ProcessEnd& end) {
  const bool signalled = WIFSIGNALED(end.wait_status);
  const WriteFailure failure =
    replace_file(trace / "complete", Into::kTrace, [&](std::ostream& file) {
      file << "how=" << (signalled ? "signalled" : "exited")
           << "\nstatus=" << (signalled ? 0 : WEXITSTATUS(end.wait_status))
           << "\nsignal=" << (signalled ? WTERMSIG(end.wait_status) : 0)
           << "\ncore=" << (signalled && WCOREDUMP(end.wait_status) ? 1 : 0) << "\ntsc=" << end.tsc
           << "\nmonotonic_ns=" << end.monotonic_ns << "\n";
    });
  if (!failure) ::unlink((trace / "incomplete").c_str());
  return failure.why;
}

void keep_run(std::vector<TraceHead>& traces, const std::string& run) {
  std::erase_if(traces, [&](const TraceHead& trace) { return trace.info.run != run; });
}

} // namespace

std::vector<TraceHead> find_traces(const fs::path& folder) {
  std::vector<TraceHead> traces;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.compare(0, 12, "gpumemtrace.") == 0) add_trace(it->path(), traces);
  }
  sort_by_age(traces);
  return traces;
}

std::vector<TraceHead> traces_of_run(const fs::path& folder, const std::string& run, pid_t program,
                                     const std::vector<fs::path>& elsewhere) {
  std::vector<TraceHead> traces = find_traces(folder);
  for (const fs::path& path : elsewhere) add_trace(path, traces);
  sort_by_age(traces);
  keep_run(traces, run);
  const std::string here = host_name(); // a run on several hosts may share the folder
  std::stable_partition(traces.begin(), traces.end(),
                        [&](const TraceHead& trace) { return is_of(trace, program, here); });
  return traces;
}

std::vector<TraceHead> newest_run(const fs::path& folder) {
  std::vector<TraceHead> traces = find_traces(folder);
  if (traces.empty()) return {};
  if (traces.back().info.run.empty()) return {std::move(traces.back())};
  // Which of them was the program itself is known by age: it is the oldest unless it only started
  // others.
  keep_run(traces, std::string(traces.back().info.run));
  return traces;
}

std::string write_endings(const std::vector<TraceHead>& traces,
                          const std::vector<ProcessEnd>& ends) {
  const std::string here = host_name();
  std::string problem;
  for (const ProcessEnd& end : ends) {
    const TraceHead* last = nullptr;
    for (const TraceHead& trace : traces)
      if (is_of(trace, end.pid, here) &&
          (!last || trace.info.realtime_ns >= last->info.realtime_ns))
        last = &trace;
    if (!last) continue;
    if (const std::string why = write_complete(last->path, end); !why.empty()) {
      problem = "cannot write how the program ended into '" + last->path.string() + "': " + why +
                "; what was alive at the end may be left out of the report";
    }
  }
  return problem;
}

std::uint64_t lost_records(const fs::path& trace) {
  std::uint64_t lost = 0;
  std::error_code error;
  for (fs::directory_iterator it(trace, error), end; !error && it != end; it.increment(error)) {
    if (name_of_log(it->path()).empty()) continue;
    trace::LogHeader header = {};
    const Descriptor file = open_in_folder(it->path());
    if (!file || read_at(file.number(), &header, sizeof header, 0) != sizeof header) continue;
    if (std::memcmp(header.magic, trace::kLogMagic, sizeof header.magic) != 0) continue;
    for (const std::uint64_t count : header.lost) lost += count;
  }
  return lost;
}

std::vector<Note> read_notes(const std::string& path) {
  std::vector<Note> notes;
  for_each_line_of(open_in_folder(path), [&notes](std::string_view line) {
    const std::size_t first = line.find('\t');
    const std::size_t second = first == line.npos ? first : line.find('\t', first + 1);
    if (second == line.npos) return true;
    notes.push_back({std::string(line.substr(0, first)),
                     parse_number<pid_t>(line.substr(first + 1, second - first - 1)).value_or(0),
                     std::string(line.substr(second + 1))});
    return notes.size() < kMostNotes;
  });
  return notes;
}

std::string idle_file(std::uint32_t pid) { return "gpumemtrace-idle." + std::to_string(pid); }

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

} // namespace gmt
