// SPDX-License-Identifier: Apache-2.0
// Finds the traces of processes that may be running.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// The trace that the word names: a process, a trace, or a folder of traces, of which it is the
// newest run. No word is the current directory. Throws UserError (kUnreadableTrace) if there is
// none.
TraceHead chosen_trace(const std::vector<std::string>& words);

// A variable of a running process, as it was started; empty if it is not known.
std::string environment_of(std::uint32_t pid, const std::string& name);

// Folders in which a process of this number may make its trace.
std::vector<std::filesystem::path> trace_folders_of(std::uint32_t pid);

[[noreturn]] void no_trace(const std::string& what); // throws that error

// One process, from before its first CUDA call on: until then it has no trace.
class TracedProcess {
public:
  explicit TracedProcess(std::uint32_t pid);

  // It was started by the command, as far as its environment and this one's say.
  bool is_traced() const { return !runs_.empty(); }
  // The newest one, if exec has left an older one. Of a process that is not traced any is taken.
  // Throws UserError if the process has said that it can make none.
  std::optional<TraceHead> find() const;

private:
  std::uint32_t pid_;
  std::set<std::string> runs_; // one of these it belongs to
};

} // namespace gmt
