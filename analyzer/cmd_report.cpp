// SPDX-License-Identifier: Apache-2.0
// `report`: analyses traces made earlier, here or on another machine. Called by dispatch().
// Returns 0 if nothing at or above --fail-on was found, else 1; everything else is a UserError.

#include <unistd.h>

#include <filesystem>

#include "analyzer/command.h"
#include "analyzer/console.h"
#include "analyzer/launch_traces.h"
#include "analyzer/leftover_rings.h"
#include "analyzer/render.h"
#include "analyzer/trace_dir.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

// The traces of the folder's newest run; which they are is said.
void add_newest(const fs::path& folder, std::vector<fs::path>& paths) {
  const std::vector<RunTrace> traces = newest_run(folder);
  if (traces.empty()) return;
  for (const RunTrace& trace : traces) paths.push_back(trace.path.lexically_normal());
  std::string text = "reading the newest trace, " + traces.front().path.lexically_normal().string();
  if (traces.size() > 1) text += ", and " + std::to_string(traces.size() - 1) + " more of the same run";
  say(text);
}

std::vector<fs::path> chosen_traces(const std::vector<std::string>& words) {
  std::vector<fs::path> paths;
  if (words.empty()) add_newest(".", paths);
  for (const std::string& word : words) {
    const std::size_t before = paths.size();
    if (!is_trace(word)) add_newest(word, paths);
    if (paths.size() == before) paths.emplace_back(word); // a trace, or an error that names it
  }
  if (paths.empty()) {
    throw UserError(
        "no trace in the current directory; name one, as in 'gpumemtrace report "
        "gpumemtrace.app.host.4711'",
        ExitStatus::kUsage);
  }
  return paths;
}

} // namespace

int command_report(const Settings& settings) {
  const std::vector<fs::path> paths = chosen_traces(settings.words);
  for (const fs::path& path : paths) {
    const std::string problem = collect_rings(path);
    if (!problem.empty()) say(problem);
  }
  OutputFile output(settings.output, STDOUT_FILENO);
  const Report report = build_report(paths, report_options(settings));
  output.write(render(report, settings, output.descriptor()));
  const bool found = has_finding(report, settings.fail_on);
  return static_cast<int>(found ? ExitStatus::kFindings : ExitStatus::kClean);
}

} // namespace gmt
