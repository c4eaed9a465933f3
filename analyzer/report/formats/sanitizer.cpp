// SPDX-License-Identifier: Apache-2.0
// Lines that begin with "=========", as compute-sanitizer writes them: CTest reads them after
// `ctest -T memcheck` with MEMORYCHECK_TYPE=CudaSanitizer. It counts "Leaked N bytes at" as a leak,
// and takes the beginning of each other line without an indent for the name of a mistake.
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::sanitizer {
namespace {

constexpr std::string_view kBar = "=========";

// "Double free" of "double-free"
std::string title_of(const ReportedFinding& finding) {
  std::string title = finding.kind;
  for (char& c : title)
    if (c == '-') c = ' ';
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

void write_finding(const ReportedFinding& finding, const SourcePaths& paths,
                   const OutputOptions& options, std::ostream& stream) {
  if (finding.measure == Measure::kLostBlocks) {
    stream << kBar
           << fmt::format(" Leaked {} bytes at {}\n", finding.bytes,
                          format_address(finding.address.value_or(0)));
  } else {
    stream << kBar << ' ' << text::printable(title_of(finding)) << '\n';
  }
  const auto add = [&stream](std::string_view line) {
    stream << kBar << "     " << text::printable(line) << '\n';
  };
  add(finding.message);
  std::string stacks = tools::stacks_text(finding, paths, options.stack_depth);
  for (std::size_t at = 0; at < stacks.size();) {
    const std::size_t end = std::min(stacks.find('\n', at), stacks.size());
    add(std::string_view(stacks).substr(at, end - at));
    at = end + 1;
  }
  add(finding.advice);
  stream << kBar << '\n';
}

void write_sanitizer(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const SourcePaths paths(report, options.source_root);
  stream << kBar << " COMPUTE-SANITIZER (lines for CTest by gpumemtrace " << report.tool_version
         << ")\n";
  std::size_t count = 0;
  const std::size_t most = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < most; ++i) {
    if (!tools::fails(report.findings[i], options)) continue;
    write_finding(report.findings[i], paths, options, stream);
    ++count;
  }
  std::string end;
  for (const Failure* failure : report.conclusion.beside_findings()) {
    using Reason = Failure::Reason;
    if (failure->reason == Reason::kProgram || failure->reason == Reason::kRunTime) {
      // No mistake of its own: CTest sees by itself how the test ended.
      end = text::printable(cat({"; ", failure->sentence}));
      continue;
    }
    stream << kBar << " Not checked\n"
           << kBar << "     " << text::printable(failure->sentence) << '\n';
    ++count;
  }
  stream << kBar << " ERROR SUMMARY: " << format_plural(count, "error") << end << '\n';
}

const OutputRegistration kSanitizer{{.id = "sanitizer",
                                     .title = "lines for ctest -T memcheck (CudaSanitizer)",
                                     .write = write_sanitizer}};

} // namespace
} // namespace gmt::sanitizer
