// SPDX-License-Identifier: Apache-2.0
// Commands of GitHub's workflows, "::error file=train.cu,line=88,...::message": its runner shows
// each beside the line in the change. Paths are relative to the sources.
#include <ostream>
#include <string>
#include <string_view>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::github {
namespace {

// What the runner would take for the end of a message, or of a property of it.
std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : tools::clean_utf8(text)) {
    switch (c) {
    case '%': out += "%25"; break;
    case '\r': out += "%0D"; break;
    case '\n': out += "%0A"; break;
    case ':': out += is_property ? "%3A" : ":"; break;
    case ',': out += is_property ? "%2C" : ","; break;
    default: out += c;
    }
  }
  return out;
}

std::string_view command_of(Severity severity) {
  switch (severity) {
  case Severity::kError: return "error";
  case Severity::kWarning: return "warning";
  case Severity::kNote: break;
  }
  return "notice";
}

void write_finding(const ReportedFinding& finding, const SourcePaths& paths,
                   const OutputOptions& options, std::ostream& stream) {
  const FilePosition line = paths.line_of(finding);
  std::string title = finding.kind;
  if (const std::string amount = tools::amount_of(finding); !amount.empty()) title += ": " + amount;
  std::string text = finding.message.empty() ? finding.kind : finding.message;
  if (!finding.advice.empty()) text += " " + finding.advice;
  text += "\n" + tools::stacks_text(finding, paths, options.stack_depth);
  text.pop_back();
  stream << "::" << command_of(finding.severity) << ' ';
  if (line) stream << "file=" << escaped(line.file, true) << ",line=" << line.line << ',';
  stream << "title=" << escaped(title, true) << "::" << escaped(without_folders(text), false)
         << '\n';
}

void write_github(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const SourcePaths paths(report, options.source_root);
  const std::size_t count = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < count; ++i) {
    if (report.findings[i].baseline != BaselineState::kKnown)
      write_finding(report.findings[i], paths, options, stream);
  }
  for (const Failure* failure : report.conclusion.beside_findings())
    stream << "::error title=gpumemtrace::" << escaped(without_folders(failure->sentence), false)
           << '\n';
  for (const tools::KilledChild& child : tools::killed_children(report))
    stream << "::warning title=gpumemtrace::" << escaped(child.sentence, false) << '\n';
  if (const std::size_t more = report.findings.size() - count; more != 0)
    stream << "::notice title=gpumemtrace::" << format_plural(more, "more finding")
           << " not shown\n";
}

const OutputRegistration kGithub{
  {.id = "github", .title = "annotations of a workflow on GitHub", .write = write_github}};

} // namespace
} // namespace gmt::github
