// SPDX-License-Identifier: Apache-2.0
// Starts the program and stays with it until it ends: signals, job control, orphans, exit status.
//
// The program shares the command's process group, so what the terminal sends (Ctrl-C, Ctrl-Z,
// resize) reaches it without us and is never sent twice; what is sent to the command alone with
// kill() is passed on. The command is the subreaper of the tree: it learns how orphans ended, but
// waits for no process longer than for the program itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/user_error.h"

namespace gmt {

// The statuses a shell gives for a program that could not be started.
inline constexpr ExitStatus kCannotStart = ExitStatus{125};
inline constexpr ExitStatus kNotExecutable = ExitStatus{126};
inline constexpr ExitStatus kNotFound = ExitStatus{127};

// A process of the tree whose end this process learnt, with both clocks at that moment.
struct ProcessEnd {
  pid_t pid = 0;
  int wait_status = 0; // as waitpid() gives it
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
};

struct RunningProcess {
  pid_t pid = 0;
  std::string name;
};

struct Outcome {
  std::vector<ProcessEnd> ended; // the program itself first
  std::vector<RunningProcess> running;
  const ProcessEnd& program() const { return ended.front(); }
};

struct LaunchPlan {
  std::string path;                     // as resolved
  std::vector<std::string> arguments;   // argv[0] as the user wrote it
  std::vector<std::string> environment; // NAME=value
  // Called again and again while the program runs, in the times that it answers; may be empty.
  std::function<std::chrono::milliseconds()> meanwhile = {};
};

// Runs the plan to its end. Throws UserError (125, 126, 127) if the program never started.
Outcome launch(const LaunchPlan& plan);

// A status as a shell sees it: the exit status, or 128 + signal.
int shell_status(int wait_status);

// Ends this process as the program ended: by the same signal, without a second core file; returns
// the exit status where it exited by itself (or where this process cannot die by a signal, as PID 1
// of a container).
int die_like(int wait_status);

// proc_tree.cpp: what /proc says of other processes.
struct ProcessStat {
  pid_t pid = 0, parent = 0;
  char state = '?';
  std::uint64_t started = 0; // clock ticks since boot
  std::string name;
};
bool read_process_stat(pid_t pid, ProcessStat& stat);
std::vector<RunningProcess> running_descendants(pid_t ancestor, std::uint64_t started_since);

std::uint64_t read_tsc();
std::uint64_t read_monotonic_ns();

} // namespace gmt
