// SPDX-License-Identifier: Apache-2.0
// A summary in GitHub's Markdown, for a comment of a merge request or $GITHUB_STEP_SUMMARY. Stays
// below the 65,536 characters that a comment may have: what does not fit is counted. Whatever comes
// from the program is written so that it can be neither markup nor HTML nor a mention of a user.
#include <algorithm>
#include <cctype>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::markdown {
namespace {

constexpr std::size_t kMostBytes = 60'000;
constexpr std::size_t kMostRows = 50;

// Punctuation as numbers of characters: an entity is never markup, in tables neither.
std::string escaped(std::string_view given) {
  const std::string text = tools::clean_utf8(without_folders(given));
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view kHarmless = " ,.;'/-+=%";
    if (byte >= 0x80 || std::isalnum(byte) != 0 || kHarmless.find(c) != std::string_view::npos)
      out += c;
    else if (c == '\n' || c == '\r' || c == '\t') out += ' ';
    else out += fmt::format("&#{};", static_cast<int>(byte));
  }
  // "www.example.com" would become a link by itself
  for (std::size_t at = out.find("www."); at != std::string::npos; at = out.find("www.", at + 4))
    out.replace(at + 3, 1, "&#46;");
  return out;
}

// A block whose fence is longer than any run of backticks inside.
std::string fenced(const std::string& given) {
  const std::string text = tools::clean_utf8(given);
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "text\n" + text + fence + "\n";
}

std::string state_word(const ReportedFinding& finding) {
  switch (finding.baseline) {
  case BaselineState::kNew: return "new ";
  case BaselineState::kGrown: return "grown ";
  default: return {};
  }
}

std::string headline(const Report& report) {
  std::string text = report.conclusion.passed() ? "**Passed**: " : "**Failed**: ";
  const auto known = static_cast<std::uint64_t>(
    std::ranges::count(report.findings, BaselineState::kKnown, &ReportedFinding::baseline));
  text += format_plural(report.count(Severity::kError), "error") + ", " +
          format_plural(report.count(Severity::kWarning), "warning") + ", " +
          format_plural(report.count(Severity::kNote), "note");
  if (known != 0) text += "; " + format_count(known) + " of them in the baseline";
  if (report.suppressed != 0) text += "; " + format_count(report.suppressed) + " suppressed";
  if (const auto& launches = report.conclusion.launches;
      launches && !launches_in_brief(*launches).empty())
    text += "; " + launches_in_brief(*launches);
  text += ".\n";
  std::string reasons;
  for (const Failure* failure : report.conclusion.beside_findings())
    reasons += "- **failed**: " + escaped(failure->sentence) + "\n";
  return reasons.empty() ? text : text + "\n" + reasons;
}

std::string memory_line(const Report& report) {
  std::uint64_t peak = 0, live = 0;
  for (const ProcessReport& process : report.processes) {
    peak = std::max(peak, process.totals.peak_bytes);
    live += process.totals.live_bytes;
  }
  return fmt::format("\nPeak of device memory {}, live at the end {}, {}.\n", format_bytes(peak),
                     format_bytes(live), format_plural(report.processes.size(), "process"));
}

std::string row_of(const ReportedFinding& finding, const std::string& where) {
  return fmt::format("| {}{} | {} | {} | {} | {} |\n", state_word(finding),
                     tools::severity_word(finding.severity), escaped(finding.kind),
                     escaped(tools::amount_of(finding)), escaped(where), escaped(finding.message));
}

// The finding's line and the lines that called it, as far as they are in the sources.
std::vector<std::string> lines_of(const ReportedFinding& finding, const SourcePaths& paths) {
  const FilePosition first = paths.line_of(finding);
  if (!first) return {first.file};
  std::vector<std::string> lines;
  for (const LabelledStack& stack : finding.stacks) {
    if (!paths.line_of(stack)) continue;
    for (const Frame& frame : stack.frames)
      if (const std::string file = paths.relative(frame); !file.empty())
        lines.push_back(cat({file, ":", std::to_string(std::max(frame.line, 1u))}));
    break;
  }
  return lines;
}

// Where several findings of a kind have the same line, the first call at which one differs from the
// others stands beside it.
std::vector<std::string> locations_of(std::span<const ReportedFinding* const> findings,
                                      const SourcePaths& paths) {
  std::vector<std::vector<std::string>> chains;
  std::map<std::string, std::size_t> count; // of findings that begin so
  for (const ReportedFinding* finding : findings) {
    chains.push_back(lines_of(*finding, paths));
    std::string begin = finding->kind;
    for (const std::string& line : chains.back()) ++count[begin += "\n" + line];
  }
  std::vector<std::string> locations;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const std::vector<std::string>& chain = chains[i];
    std::string begin = findings[i]->kind;
    std::size_t depth = 0;
    for (; depth < chain.size(); ++depth)
      if (count[begin += "\n" + chain[depth]] == 1) break;
    const bool differs_above = depth > 0 && depth < chain.size();
    locations.push_back(differs_above ? cat({chain[0], ", called at ", chain[depth]}) : chain[0]);
  }
  return locations;
}

std::string details_of(const ReportedFinding& finding, const SourcePaths& paths,
                       const OutputOptions& options) {
  return fmt::format(
    "\n<details><summary>{} {}</summary>\n\n{}\n\n{}\n{}\n</details>\n",
    tools::severity_word(finding.severity), escaped(finding.kind), escaped(finding.message),
    fenced(tools::stacks_text(finding, paths, options.stack_depth)), escaped(finding.advice));
}

std::string not_checked_list(const Report& report) {
  std::string out;
  for (const NotChecked& entry : report.not_checked)
    out += "- not checked: " + escaped(entry.what) + ": " + escaped(entry.why) + "\n";
  for (const std::string& remark : report.remarks) out += "- " + escaped(remark) + "\n";
  return out.empty() || out.size() > kMostBytes / 4 ? "" : "\n" + out;
}

void write_markdown(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const SourcePaths paths(report, options.source_root);
  std::vector<const ReportedFinding*> shown;
  const std::size_t asked = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < asked; ++i) {
    if (report.findings[i].baseline != BaselineState::kKnown) shown.push_back(&report.findings[i]);
  }
  const std::string program =
    report.processes.empty() ? "" : ": " + escaped(tools::process_name(report, 0));
  std::string out = "## gpumemtrace" + program + "\n\n" + headline(report);
  if (!report.processes.empty()) out += memory_line(report);
  const std::string tail = not_checked_list(report);
  std::string rows, details;
  std::size_t count = 0;
  const std::span first(shown.data(), std::min(shown.size(), kMostRows));
  const std::vector<std::string> locations = locations_of(first, paths);
  for (const ReportedFinding* finding : first) {
    const std::string row = row_of(*finding, locations[count]),
                      more = details_of(*finding, paths, options);
    const std::size_t taken = out.size() + rows.size() + details.size() + tail.size();
    if (taken + row.size() + more.size() > kMostBytes) break;
    rows += row;
    details += more;
    ++count;
  }
  if (count != 0)
    out += "\n| severity | finding | amount | where | what |\n|---|---|---|---|---|\n" + rows;
  if (count != shown.size())
    out += "\n" + format_plural(shown.size() - count, "more finding") + " not shown here.\n";
  stream << out + details + tail;
}

const OutputRegistration kMarkdown{
  {.id = "markdown", .title = "a summary for a merge request", .write = write_markdown}};

} // namespace
} // namespace gmt::markdown
