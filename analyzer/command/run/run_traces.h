// SPDX-License-Identifier: Apache-2.0
// The traces that a run has left: which they are, and the parent's last word in them (`complete`).
// Reads only `info` and the headers of logs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/command/run/child_process.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

std::vector<TraceHead> find_traces(const std::filesystem::path& folder); // oldest first

// Those of one run, the program's own first, then by age; `elsewhere` are traces known to lie in
// other folders.
std::vector<TraceHead> traces_of_run(const std::filesystem::path& folder, const std::string& run,
                                     pid_t program,
                                     const std::vector<std::filesystem::path>& elsewhere = {});

// All traces of the run that made the newest trace in the folder.
std::vector<TraceHead> newest_run(const std::filesystem::path& folder);

// Writes how the processes ended into the newest trace of each (an older one of the same pid was
// left by exec). Returns a sentence if one could not be written, else nothing.
std::string write_endings(const std::vector<TraceHead>& traces,
                          const std::vector<ProcessEnd>& ends);

std::uint64_t lost_records(const std::filesystem::path& trace); // as the log headers count them

// A line that an interposed process left in GPUMEMTRACE_NOTES: `<word>\t<pid>\t<text>`. The words:
// - unhooked: it started the program <text> with an environment that has lost the preload
// - nodir: it could make no trace, because <text>: nothing of it was checked
// - privileged: <text> is the right with which a child runs, a blank, and its program, which is not
//   checked
// - badvalue: <text> is a variable with a value that it cannot have: its default is in force
// - nolog: a thread of it could be given no log, because <text>
// - moved: its trace is the directory <text>, as the wanted folder could not be written
// - nounwinder: the library <text> could not be loaded: its call stacks are short
// - nonvtx: the NVTX library that the user had named could not be loaded: <text>
// - capturing: a launch that begins now is in a file: <text> is its path, a tab, and what it holds
// - captured: the same when the launch has ended; <text> has the same path
// - uncaptured: --capture stored nothing, because <text>
struct Note {
  std::string word;
  pid_t pid = 0;
  std::string text;
};
std::vector<Note> read_notes(const std::string& file);

std::string host_name();

// The name of the file by which a process under `record --idle` is asked to record, in the folder
// of its traces. The interposer makes it.
std::string idle_file(std::uint32_t pid);

} // namespace gmt
