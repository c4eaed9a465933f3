// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/run/removed_traces.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/printable.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInfo = "info";

// Without a slash at its end, behind which a link would be followed.
fs::path named_folder(const fs::path& trace) {
  const fs::path path = trace.lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// trace/FORMAT.md lists them.
bool is_trace_file(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
    kInfo,     "apis",         "modules",    "code",     "core-dump",
    "symbols", "source-lines", "incomplete", "complete", "packed"};
  if (name.ends_with(".tmp")) name = name.substr(0, name.find('.')); // replace_file() was killed
  return std::ranges::find(kNames, name) != kNames.end() || name.ends_with(".log") ||
         name.ends_with(".log.new") || name.ends_with(".log.zst") ||
         name.ends_with(".log.zst.new") ||
         (name.starts_with("device-") && name.ends_with(".ring")) || name.starts_with("image-") ||
         name.starts_with("gpu-core.");
}

// What else lies in the folder; empty if nothing does.
fs::path other_file(const fs::path& trace) {
  std::error_code error;
  for (fs::directory_iterator it(trace, error), end; !error && it != end; it.increment(error)) {
    std::error_code unknown;
    const fs::path name = it->path().filename();
    if (!is_trace_file(name.string()) || fs::is_directory(it->symlink_status(unknown))) return name;
  }
  return {};
}

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
  const fs::path path = named_folder(trace.path);
  if (!path.filename().string().starts_with("gpumemtrace."))
    return "it does not have a trace's name";
  if (fs::is_symlink(path, error)) return "it is a link";
  if (!fs::equivalent(trace.path, path, error)) return "its path goes back behind a link";
  if (!is_own_folder(path)) return "it belongs to another user";
  if (trace.info.major == 0 || trace.info.pid == 0) return "its file 'info' is not a trace's";
  if (is_running(trace)) return "its process may still run";
  const fs::path other = other_file(path);
  return other.empty() ? std::string() : "it holds '" + printable(other.string()) + "'";
}

// By the descriptor of the folder, so that nothing is removed elsewhere if its name changes hands.
// `info` goes last: what an interruption leaves is still known as a trace.
std::string remove_trace(const fs::path& trace) {
  const fs::path path = named_folder(trace);
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return std::generic_category().message(errno);
  const fs::path inside = "/proc/self/fd/" + std::to_string(folder.number());
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(inside, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name != kInfo && is_trace_file(name)) names.push_back(std::move(name));
  }
  if (error) return error.message();
  names.emplace_back(kInfo);
  for (const std::string& name : names)
    if (::unlinkat(folder.number(), name.c_str(), 0) != 0 && errno != ENOENT)
      return std::generic_category().message(errno);
  return ::rmdir(path.c_str()) == 0 ? std::string() : std::generic_category().message(errno);
}

} // namespace gmt
