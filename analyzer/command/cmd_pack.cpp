// SPDX-License-Identifier: Apache-2.0
// `pack`: traces become one file, to be sent or kept. Functions and lines are stored in the traces
// first, so that the file has them where the binaries are not.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/pack/tar_file.h"
#include "analyzer/command/report_options.h"
#include "analyzer/command/run/chosen_traces.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnd = ".tar.zst";

// A trace has functions and lines at the end of its run, unless the command was killed, too.
bool has_no_symbols(const TraceHead& trace) { return !is_file_in_folder(trace.path / "symbols"); }

std::string file_of(const Settings& settings, const std::vector<TraceHead>& traces) {
  if (!settings.output.empty()) return settings.output;
  std::string file = fs::canonical(traces.front().path).filename().string() + kEnd;
  std::error_code error;
  if (fs::exists(file, error))
    throw UserError("'" + file + "' is there already; name another file with -o",
                    ExitStatus::kUsage);
  return file;
}

} // namespace

int command_pack(const Settings& settings) {
  const std::vector<TraceHead> traces = chosen_traces(settings.words);
  for (const TraceHead& trace : traces) {
    std::error_code error;
    if (!fs::exists(trace.path, error))
      throw UserError("no such trace: " + trace.path.string(), ExitStatus::kUnreadableTrace);
    if (fs::canonical(trace.path).filename().string().size() <= TarWriter::kLongestFolder) continue;
    throw UserError("the name of " + trace.path.string() + " is too long for an archive: rename it",
                    ExitStatus::kUsage);
  }
  const std::string file = file_of(settings, traces);
  if (std::ranges::any_of(traces, has_no_symbols))
    build_report(opened_traces(traces), report_options(settings));
  const std::uint64_t bytes = pack_traces(traces, file);
  say(format_plural(traces.size(), "trace") + " packed into " + file + ", " + format_bytes(bytes) +
      "; next: gpumemtrace report " + file);
  return 0;
}

} // namespace gmt
