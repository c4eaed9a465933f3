// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/run/core_dumps.h"

#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/base/mapped_file.h"
#include "analyzer/command/run/run_traces.h"
#include "analyzer/core_dump/core_dump.h"
#include "analyzer/trace_reader/core_dump_file.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "gpu-core.";
constexpr std::size_t kMostDumps = 64; // a process has one for each device

std::vector<fs::path> dumps_in(const fs::path& trace) {
  std::vector<fs::path> dumps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(trace, error)) {
    const bool is_dump = entry.path().filename().string().starts_with(kPrefix);
    if (is_dump && is_file_in_folder(entry.path())) dumps.push_back(entry.path());
    if (dumps.size() == kMostDumps) break;
  }
  return dumps;
}

bool may_write(const TraceInfo& info) {
  return info.pid != 0 && info.host == host_name() && ::kill(static_cast<pid_t>(info.pid), 0) == 0;
}

} // namespace

std::string collect_core_dumps(TraceHead& trace) {
  const std::vector<fs::path> files = dumps_in(trace.path);
  if (files.empty()) return {};
  Expected<TraceDir> opened = open_trace(trace.path);
  if (!opened || may_write((*opened).info)) return {};
  const bool keep = (*opened).asks_for("keep_core_dump");
  if (keep && !(*opened).core_dumps.empty()) return {}; // taken before
  std::vector<CoreDump> found;
  for (const fs::path& file : files) {
    const MappedFile mapped(open_in_folder(file));
    found.push_back(read_core_dump(mapped.bytes()));
  }
  std::vector<CoreDump> all = (*opened).core_dumps;
  all.insert(all.end(), found.begin(), found.end());
  if (const auto problem = write_core_dumps(trace.path, all)) {
    trace.core_dumps = std::move(found);
    return *problem;
  }
  std::error_code error;
  for (const fs::path& file : files) {
    if (!keep) fs::remove(file, error);
  }
  return error ? "A core dump of the GPU could not be deleted: " + error.message() + "."
               : std::string();
}

} // namespace gmt
