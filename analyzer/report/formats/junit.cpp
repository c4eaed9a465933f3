// SPDX-License-Identifier: Apache-2.0
// JUnit's XML, which every CI server shows with a history. A suite is a process, a case is a
// finding, and its name is the same in the next run. A case fails if its finding fails the check;
// what else failed the run, its end among it, is a case of the class "run".
// A process without findings is one case that passes; what was not checked is skipped. With
// --group-by range a case's class is the range: that of a test, where each test has one.
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::junit {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : tools::clean_utf8(text)) {
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    case '"': out += "&quot;"; break;
    case '\t':
    case '\n':
    case '\r': out += fmt::format("&#{};", static_cast<int>(c)); break;
    default: out += c;
    }
  }
  return out;
}

// As text of an element, where ends of lines stay.
std::string element_text(std::string_view text) {
  std::string out = escaped(text);
  for (std::size_t at = out.find("&#10;"); at != std::string::npos; at = out.find("&#10;", at))
    out.replace(at, 5, "\n");
  return out;
}

struct Suite {
  std::string name;
  std::string cases;
  std::uint64_t tests = 0, failures = 0, errors = 0, skipped = 0;
};

void add_case(Suite& suite, std::string_view group, std::string_view name,
              std::string_view inside) {
  ++suite.tests;
  suite.cases += fmt::format("    <testcase classname=\"gpumemtrace.{}\" name=\"{}\" time=\"0\"",
                             escaped(group), escaped(name));
  if (inside.empty()) suite.cases += "/>\n";
  else suite.cases.append(">\n").append(inside).append("    </testcase>\n");
}

std::string case_name(const ReportedFinding& finding) {
  std::string name;
  for (const std::string& function : identity_of(finding))
    name += (name.empty() ? "in " : " < ") + function;
  if (name.empty()) name = finding.api.empty() ? finding.kind : finding.api;
  if (!finding.fingerprint.empty()) name += " [" + finding.fingerprint + "]";
  return name;
}

void add_finding(Suite& suite, const ReportedFinding& finding, const SourcePaths& paths,
                 const OutputOptions& options) {
  const std::string message = without_folders(finding.message);
  std::string text = message + "\n";
  if (const std::string amount = tools::amount_of(finding); !amount.empty()) text += amount + "\n";
  text += tools::stacks_text(finding, paths, options.stack_depth);
  text += without_folders(finding.advice) + "\n";
  const std::string_view word = tools::severity_word(finding.severity);
  const bool is_by_range = options.group_by_range && !finding.range.empty();
  const std::string group = is_by_range ? finding.range : finding.kind;
  const std::string name =
    is_by_range ? finding.kind + " " + case_name(finding) : case_name(finding);
  if (tools::fails(finding, options)) {
    ++suite.failures;
    add_case(suite, group, name,
             fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", word,
                         escaped(message), element_text(text)));
  } else {
    add_case(suite, group, name,
             fmt::format("      <system-out>{}: {}</system-out>\n", word, element_text(text)));
  }
}

std::string_view case_of(Failure::Reason reason) {
  using enum Failure::Reason;
  switch (reason) {
  case kUnchecked: return "the program is checked";
  case kNoCalls: return "calls of CUDA are seen";
  case kIncomplete: return "the whole run is recorded";
  case kUnrun: return "all launches run";
  case kFindings: return "no findings";
  case kRunTime:
  case kProgram: break;
  }
  return "the program ends with status 0";
}

// Why the run failed beside its findings. What the check could not do is an error, not a failure.
void add_failure(Suite& suite, const Failure& failure) {
  const bool is_end =
    failure.reason == Failure::Reason::kProgram || failure.reason == Failure::Reason::kRunTime;
  ++(is_end ? suite.failures : suite.errors);
  add_case(suite, "run", case_of(failure.reason),
           fmt::format("      <{} type=\"{}\" message=\"{}\"/>\n", is_end ? "failure" : "error",
                       id_of(failure.reason), escaped(without_folders(failure.sentence))));
}

std::vector<Suite> suites_of(const Report& report, const OutputOptions& options) {
  const SourcePaths paths(report, options.source_root);
  std::vector<Suite> suites(std::max<std::size_t>(report.processes.size(), 1));
  for (std::size_t i = 0; i < suites.size(); ++i) suites[i].name = tools::process_name(report, i);
  const std::size_t count = tools::shown_findings(report, options);
  for (std::size_t i = 0; i < count; ++i) {
    const ReportedFinding& finding = report.findings[i];
    add_finding(suites[finding.process < suites.size() ? finding.process : 0], finding, paths,
                options);
  }
  for (const Failure* failure : report.conclusion.beside_findings())
    add_failure(suites.front(), *failure);
  // No failure: the program may have meant it. Its memory was not checked to the end.
  for (const tools::KilledChild& child : tools::killed_children(report)) {
    ++suites[child.process].skipped;
    add_case(suites[child.process], "run", "the process ends by itself",
             fmt::format("      <skipped message=\"{}\"/>\n", escaped(child.sentence)));
  }
  for (Suite& suite : suites)
    if (suite.tests == 0) add_case(suite, "memory", "no findings", "");
  for (const NotChecked& entry : report.not_checked) {
    ++suites.front().skipped;
    add_case(suites.front(), "not-checked", without_folders(entry.what),
             fmt::format("      <skipped message=\"{}\"/>\n", escaped(without_folders(entry.why))));
  }
  return suites;
}

void write_junit(const Report& report, const OutputOptions& options, std::ostream& stream) {
  const std::vector<Suite> suites = suites_of(report, options);
  Suite all;
  for (const Suite& suite : suites) {
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.errors += suite.errors;
  }
  stream << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         << fmt::format("<testsuites name=\"gpumemtrace\" tests=\"{}\" failures=\"{}\" "
                        "errors=\"{}\" time=\"0\">\n",
                        all.tests, all.failures, all.errors);
  for (const Suite& suite : suites) {
    stream << fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
                          "skipped=\"{}\" time=\"0\">\n",
                          escaped(suite.name), suite.tests, suite.failures, suite.errors,
                          suite.skipped)
           << suite.cases << "  </testsuite>\n";
  }
  stream << "</testsuites>\n";
}

const OutputRegistration kJunit{
  {.id = "junit", .title = "JUnit's XML, for CI servers", .write = write_junit}};

} // namespace
} // namespace gmt::junit
