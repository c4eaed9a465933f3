// SPDX-License-Identifier: Apache-2.0
// Suppression rules, see suppressions.h and docs/suppressions.md.
#include "analyzer/report/suppressions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>
#include <set>

#include "analyzer/base/glob.h"
#include "analyzer/base/path.h"
#include "analyzer/base/user_error.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool kind_pattern(std::string_view kind) {
  return !kind.empty() && std::all_of(kind.begin(), kind.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '*' || c == '?';
  });
}

bool matches(const std::string& pattern, const Frame& frame) {
  if (!frame.function.empty() &&
      (glob_match(pattern, frame.function) || glob_match(pattern, bare_function(frame.function)))) {
    return true;
  }
  for (const std::string* path : {&frame.file, &frame.module}) {
    if (!path->empty() && (glob_match(pattern, *path) || glob_match(pattern, base_name(*path))))
      return true;
  }
  return false;
}

bool matches(const std::string& pattern, const ReportedFinding& finding) {
  if (pattern == "*") return true; // also a finding without a stack
  for (const LabelledStack& stack : finding.stacks) {
    for (const Frame& frame : stack.frames) {
      if (matches(pattern, frame)) return true;
    }
  }
  return false;
}

// What a rule for this finding should name: the function the user wrote, else the object file it is
// in.
std::string subject_of(const ReportedFinding& finding) {
  for (const LabelledStack& stack : finding.stacks) {
    for (const Frame& frame : stack.frames) {
      if (!frame.function.empty()) return std::string(bare_function(frame.function));
    }
  }
  for (const LabelledStack& stack : finding.stacks) {
    for (const Frame& frame : stack.frames) {
      if (!frame.module.empty()) return std::string(base_name(frame.module));
    }
  }
  return "*";
}

} // namespace

void Suppressions::add_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream in(file);
  std::error_code error;
  if (!in || std::filesystem::is_directory(file, error)) {
    throw UserError("cannot read the suppressions file " + file.string() + ": " +
                      std::strerror(errno != 0 ? errno : EISDIR),
                    ExitStatus::kUsage);
  }
  unsigned number = 0;
  for (std::string line; std::getline(in, line);) add_line(line, file.string(), ++number);
  if (in.bad()) {
    throw UserError("cannot read the suppressions file " + file.string() + ": " +
                      std::strerror(EIO),
                    ExitStatus::kUsage);
  }
}

void Suppressions::add_line(std::string_view line, const std::string& file, unsigned number) {
  const std::string_view rule = trim(line);
  if (rule.empty() || rule.front() == '#') return;
  const std::size_t colon = rule.find(':');
  const std::string_view kind = trim(rule.substr(0, colon));
  const std::string_view pattern =
    colon == std::string_view::npos ? std::string_view{} : trim(rule.substr(colon + 1));
  if (!kind_pattern(kind) || pattern.empty()) {
    throw UserError(file + ":" + std::to_string(number) + ": not a suppression rule: \"" +
                      std::string(rule) +
                      "\"; a rule is kind:glob, for example leak:load_model or *:libfoo.so*",
                    ExitStatus::kUsage);
  }
  if (!matches_a_kind(kind)) {
    throw UserError(file + ":" + std::to_string(number) + ": '" + std::string(kind) + "' in \"" +
                      std::string(rule) +
                      "\" is no kind of finding; see 'gpumemtrace help findings'",
                    ExitStatus::kUsage);
  }
  rules_.push_back({std::string(kind), std::string(pattern), {std::string(rule), file, 0}});
}

bool Suppressions::suppress(const ReportedFinding& finding) {
  for (Rule& rule : rules_) {
    if (!glob_match(rule.kind, finding.kind) || !matches(rule.pattern, finding)) continue;
    ++rule.use.findings;
    return true;
  }
  return false;
}

std::vector<SuppressionUse> Suppressions::used() const {
  std::vector<SuppressionUse> used;
  for (const Rule& rule : rules_) {
    if (rule.use.findings != 0) used.push_back(rule.use);
  }
  return used;
}

bool matches_a_kind(std::string_view pattern) {
  const std::vector<const DetectorInfo*> all = detectors();
  return std::any_of(all.begin(), all.end(),
                     [pattern](const DetectorInfo* info) { return glob_match(pattern, info->id); });
}

void print_suppressions(const Report& report, std::ostream& out) {
  std::set<std::string> printed;
  for (const ReportedFinding& finding : report.findings) {
    const std::string rule = finding.kind + ":" + subject_of(finding);
    if (!printed.insert(rule).second) continue;
    std::string comment = finding.message; // a message of several lines must not end the comment
    std::replace_if(
      comment.begin(), comment.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    out << "# " << comment << '\n' << rule << '\n';
  }
}

} // namespace gmt
