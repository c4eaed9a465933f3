// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/run/removed_traces.h"

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "analyzer/base/folder_files.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

bool is_running(const TraceHead& trace) {
  std::error_code error;
  if (fs::exists(trace.path / "complete", error) || trace.info.pid == 0) return false;
  if (trace.info.host != host_name()) return true; // who knows
  return ::kill(static_cast<pid_t>(trace.info.pid), 0) == 0 || errno == EPERM;
}

} // namespace

TraceSize size_of_trace(const fs::path& trace) {
  TraceSize size;
  std::error_code error;
  fs::file_time_type last = fs::last_write_time(trace, error);
  for (fs::recursive_directory_iterator it(trace, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unknown;
    if (it->is_symlink(unknown) || !it->is_regular_file(unknown)) continue;
    size.bytes += it->file_size(unknown);
    last = std::max(last, it->last_write_time(unknown));
  }
  size.age =
    std::chrono::duration_cast<std::chrono::hours>(fs::file_time_type::clock::now() - last);
  return size;
}

std::string why_not_removable(const TraceHead& trace) {
  std::error_code error;
  const fs::path path = trace.path.lexically_normal();
  const fs::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  if (!name.string().starts_with("gpumemtrace.")) return "it does not have a trace's name";
  if (fs::is_symlink(path.has_filename() ? path : path.parent_path(), error)) return "it is a link";
  if (!is_own_folder(trace.path)) return "it belongs to another user";
  if (is_running(trace)) return "its process may still run";
  return {};
}

std::string remove_trace(const fs::path& trace) {
  std::error_code error;
  fs::remove_all(trace, error); // removes links themselves
  return error ? error.message() : std::string();
}

} // namespace gmt
