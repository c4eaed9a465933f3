// SPDX-License-Identifier: Apache-2.0
// `report`: analyses traces made earlier, here or on another machine. Called by dispatch().
// Returns 0 if nothing at or above --fail-on was found, else 1; everything else is a UserError.

#include <unistd.h>

#include <filesystem>

#include "analyzer/command.h"
#include "analyzer/console.h"
#include "analyzer/launch_traces.h"
#include "analyzer/render.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> newest_traces() {
  std::vector<fs::path> paths;
  for (const RunTrace& trace : newest_run(".")) paths.push_back(trace.path.filename());
  if (paths.empty()) {
    throw UserError(
        "no trace in the current directory; name one: 'gpumemtrace report gpumemtrace.app.host.4711'",
        ExitStatus::kUsage);
  }
  std::string text = "reading the newest trace, " + paths.front().string();
  if (paths.size() > 1) text += ", and " + std::to_string(paths.size() - 1) + " more of the same run";
  say(text);
  return paths;
}

} // namespace

int command_report(const Settings& settings) {
  std::vector<fs::path> paths(settings.words.begin(), settings.words.end());
  if (paths.empty()) paths = newest_traces();
  OutputFile output(settings.output, STDOUT_FILENO);
  const Report report = build_report(paths, report_options(settings));
  output.write(render(report, settings, output.descriptor()));
  const bool found = has_finding(report, settings.fail_on);
  return static_cast<int>(found ? ExitStatus::kFindings : ExitStatus::kClean);
}

} // namespace gmt
