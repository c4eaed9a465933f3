// SPDX-License-Identifier: Apache-2.0
// GitLab's Code Quality report: an array of issues, which its merge requests show beside the lines.
// Paths are relative to the sources.
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::gitlab {
namespace {

using Json = nlohmann::ordered_json;

std::string_view severity_of(const ReportedFinding& finding) {
  switch (finding.severity) {
  case Severity::kError: return "critical";
  case Severity::kWarning: return "major";
  case Severity::kNote: break;
  }
  return "info";
}

Json issue_of(const ReportedFinding& finding, std::size_t number, const SourcePaths& paths) {
  const FilePosition line = paths.line_of(finding);
  std::string description = finding.message.empty() ? finding.kind : finding.message;
  if (const std::string thread = tools::thread_words(finding); !thread.empty())
    description += " In " + thread + ".";
  if (!finding.advice.empty()) description += " " + finding.advice;
  // Issues without one of their own would be taken for the same
  const std::string fingerprint =
    finding.fingerprint.empty() ? "none-" + std::to_string(number) : finding.fingerprint;
  return {{"description", without_folders(description)},
          {"check_name", finding.kind},
          {"fingerprint", fingerprint},
          {"severity", severity_of(finding)},
          {"location", {{"path", line.file}, {"lines", {{"begin", line.line}}}}}};
}

// Why the run failed beside its findings, shown at the name of the program.
Json issue_of(const Failure& failure, const Report& report) {
  return {{"description", without_folders(failure.sentence)},
          {"check_name", id_of(failure.reason)},
          {"fingerprint", "run-" + std::string(id_of(failure.reason))},
          {"severity", "blocker"},
          {"location", {{"path", tools::process_name(report, 0)}, {"lines", {{"begin", 1}}}}}};
}

void write_gitlab(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const SourcePaths paths(report, options.source_root);
  Json issues = Json::array();
  const std::size_t count = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < count; ++i) issues.push_back(issue_of(report.findings[i], i, paths));
  for (const Failure* failure : report.conclusion.beside_findings())
    issues.push_back(issue_of(*failure, report));
  stream << issues.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
}

const OutputRegistration kGitlab{
  {.id = "gitlab", .title = "Code Quality, for GitLab's merge requests", .write = write_gitlab}};

} // namespace
} // namespace gmt::gitlab
