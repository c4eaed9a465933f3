// SPDX-License-Identifier: Apache-2.0
// `attach`: asks processes that were started under `record --idle` to record from now on. Writes
// into the file that each of them maps; interposer/log/idle.h says how they look at it.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/command/command.h"
#include "analyzer/command/live/live_traces.h"
#include "analyzer/command/run/child_process.h"
#include "analyzer/command/run/run_traces.h"
#include "trace/idle_request.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

// A file may be left of a process that was killed, and its number be another's by now. Of processes
// of another container nothing is known here.
bool is_of_running_process(const fs::path& file, std::uint32_t pid) {
  const Descriptor opened = open_in_folder(file);
  trace::IdleRequest request = {};
  if (!opened || read_at(opened.number(), &request, sizeof request, 0) != sizeof request)
    return false;
  struct stat ours = {};
  if (::stat("/proc/self/ns/pid", &ours) != 0 || request.process_namespace != ours.st_ino ||
      request.started == 0)
    return true;
  ProcessStat process;
  return read_process_stat(static_cast<pid_t>(pid), process) && process.started == request.started;
}

// The file of the process, in the folders where it may make its trace; empty if there is none.
fs::path request_file(std::uint32_t pid) {
  for (const fs::path& folder : trace_folders_of(pid)) {
    const fs::path file = folder / idle_file(pid);
    if (is_file_in_folder(file) && is_of_running_process(file, pid)) return file;
  }
  return {};
}

void ask(const fs::path& file) {
  const Descriptor opened(::open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  const std::uint32_t is_asked = 1;
  const bool is_written =
    opened && ::pwrite(opened.number(), &is_asked, sizeof is_asked, 0) == sizeof is_asked;
  if (!is_written)
    throw UserError("cannot write to " + file.string() + ": " +
                      std::generic_category().message(errno) +
                      "; a process belongs to the user who started it",
                    ExitStatus::kUsage);
}

} // namespace

int command_attach(const Settings& settings) {
  if (settings.words.empty())
    throw UserError("attach takes processes: 'gpumemtrace attach 4711'", ExitStatus::kUsage);
  for (const std::string& word : settings.words) {
    const auto pid = parse_number<std::uint32_t>(word);
    if (!pid) throw UserError("'" + word + "' is no process number", ExitStatus::kUsage);
    const fs::path file = request_file(*pid);
    if (file.empty())
      throw UserError("process " + word +
                        " does not wait to be recorded: 'gpumemtrace record --idle' starts such "
                        "processes, and each waits from its first CUDA call on",
                      ExitStatus::kUsage);
    ask(file);
    say("process " + word + " is recorded from its next CUDA call on; 'gpumemtrace top " + word +
        "' shows what it holds");
  }
  return 0;
}

} // namespace gmt
