// SPDX-License-Identifier: Apache-2.0
// A line for each finding and each of its further call stacks, as compilers write them:
// "train.cu:88: error: what happened [double-free]". Editors jump to such lines. Files are named
// as the text report names them: relative to the current folder.
#include <filesystem>
#include <ostream>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/shared/call_site.h"

namespace gmt::gcc {
namespace {

// "train.cu:88", or the program's name where no line is known.
std::string position_of(const CallStack& stack, const Report& report, std::size_t process) {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  const std::size_t at = shown_frame(stack);
  if (at < stack.frames.size() && !stack.frames[at].file.empty())
    return text::location(stack.frames[at], folder);
  return text::printable(tools::process_name(report, process));
}

void write_finding(const ReportedFinding& finding, const Report& report, std::ostream& stream) {
  const std::string message = finding.message.empty() ? finding.kind + "." : finding.message;
  const CallStack none;
  const CallStack& first = finding.stacks.empty() ? none : finding.stacks.front();
  std::string words = message;
  if (const std::string thread = tools::thread_words(finding); !thread.empty())
    words += " In " + thread + ".";
  if (!finding.advice.empty()) words += " " + finding.advice;
  stream << position_of(first, report, finding.process) << ": "
         << tools::severity_word(finding.severity) << ": " << text::printable(words) << " ["
         << text::printable(finding.kind) << "]\n";
  for (std::size_t i = 1; i < finding.stacks.size(); ++i) {
    const LabelledStack& stack = finding.stacks[i];
    if (stack.frames.empty()) continue;
    stream << position_of(stack, report, finding.process)
           << ": note: " << text::printable(stack.label) << "\n";
  }
}

void write_gcc(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const std::size_t count = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < count; ++i) {
    if (report.findings[i].baseline != BaselineState::kKnown)
      write_finding(report.findings[i], report, stream);
  }
  for (const Failure* failure : report.conclusion.beside_findings())
    stream << text::printable(tools::process_name(report, 0))
           << ": error: " << text::printable(failure->sentence) << "\n";
  if (const std::size_t more = report.findings.size() - count; more != 0)
    stream << "gpumemtrace: note: " << format_plural(more, "more finding") << " not shown\n";
}

const OutputRegistration kGcc{{.id = "gcc",
                               .title = "file:line: error: ..., as compilers write it, for editors",
                               .write = write_gcc}};

} // namespace
} // namespace gmt::gcc
