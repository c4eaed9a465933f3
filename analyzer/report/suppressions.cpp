// SPDX-License-Identifier: Apache-2.0
// Suppression rules, see suppressions.h and docs/suppressions.md.
#include "analyzer/report/suppressions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "analyzer/base/glob.h"
#include "analyzer/base/path.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/source_text.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// Some editors put a mark before a text of UTF-8.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

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

// "epoch 2 / forward" is within "epoch *".
bool is_in_range(std::string_view pattern, std::string_view range) {
  for (std::size_t end = range.find(" / ");; end = range.find(" / ", end + 1)) {
    if (!range.empty() && glob_match(pattern, range.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
  }
}

bool matches(const std::string& pattern, const ReportedFinding& finding) {
  constexpr std::string_view kRange = "range ";
  if (pattern == "*") return true; // also a finding without a stack
  if (pattern.starts_with(kRange))
    return is_in_range(trim(std::string_view(pattern).substr(kRange.size())), finding.range);
  for (const LabelledStack& stack : finding.stacks) {
    for (const Frame& frame : stack.frames) {
      if (matches(pattern, frame)) return true;
    }
  }
  return false;
}

bool matches_element(const std::string& pattern, const Frame& frame) {
  return matches(pattern, frame) || glob_match(pattern, name_of_frame(frame));
}

bool matches_from(const std::vector<std::string>& names, std::size_t first,
                  const std::vector<Frame>& frames) {
  for (std::size_t i = first; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    if (is_last && names[i] == "*") return true;
    if (i - first >= frames.size() || !matches_element(names[i], frames[i - first])) return false;
  }
  return true;
}

bool matches_line(const std::string& pattern, const ReportedFinding& finding) {
  if (pattern.empty()) return true;
  const std::string normal = normal_line(pattern);
  return std::ranges::any_of(finding.source_lines, [&normal](const std::string& line) {
    return glob_match(normal, normal_line(line));
  });
}

// "made from 2 findings", as print_suppressions() writes it above a rule; 0 if the comment is
// another.
std::uint64_t made_from(std::string_view comment) {
  constexpr std::string_view kBegin = "# made from ", kEnd = " finding";
  if (!comment.starts_with(kBegin)) return 0;
  const std::string_view rest = comment.substr(kBegin.size());
  const std::size_t end = rest.find(kEnd);
  if (end == std::string_view::npos) return 0;
  return parse_number<std::uint64_t>(rest.substr(0, end)).value_or(0);
}

UserError bad_line(const std::string& file, unsigned number, const std::string& why) {
  return {file + ":" + std::to_string(number) + ": " + why, ExitStatus::kUsage};
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
  made_from_ = 0;
  for (std::string line; std::getline(in, line);) {
    const bool is_first = number == 0;
    add_line(is_first ? without_byte_order_mark(line) : line, file.string(), ++number);
  }
  if (in.bad()) {
    throw UserError("cannot read the suppressions file " + file.string() + ": " +
                      std::strerror(EIO),
                    ExitStatus::kUsage);
  }
}

void Suppressions::add_line(std::string_view line, const std::string& file, unsigned number) {
  if (line.find('\0') != std::string_view::npos)
    throw bad_line(file, number, "a NUL byte: the file is no text of UTF-8");
  const std::string_view rule = trim(line);
  if (rule.empty() || rule.front() == '#') {
    made_from_ = made_from(rule);
    return;
  }
  const std::size_t colon = rule.find(':');
  const std::string_view kind = trim(rule.substr(0, colon));
  const std::string_view pattern =
    colon == std::string_view::npos ? std::string_view{} : trim(rule.substr(colon + 1));
  if (!kind_pattern(kind) || pattern.empty()) {
    throw bad_line(file, number,
                   "not a suppression rule: \"" + std::string(rule) +
                     "\"; a rule is kind:glob, for example leak:load_model or *:libfoo.so*");
  }
  if (!matches_a_kind(kind)) {
    throw bad_line(file, number,
                   "'" + std::string(kind) + "' in \"" + std::string(rule) +
                     "\" is no kind of finding; see 'gpumemtrace help findings'");
  }
  rules_.push_back({std::string(kind),
                    std::string(pattern),
                    parse_chain(pattern),
                    std::exchange(made_from_, 0),
                    {std::string(rule), file, 0},
                    {}});
}

bool Suppressions::suppress(const ReportedFinding& finding) {
  for (Rule& rule : rules_) {
    if (!glob_match(rule.kind, finding.kind)) continue;
    // What reads as a chain may also be the glob of one name.
    const bool is_hidden =
      matches(rule.pattern, finding) || (!rule.chain.names.empty() && matches(rule.chain, finding));
    if (!is_hidden) continue;
    ++rule.use.findings;
    ++rule.by_process[finding.process];
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

std::vector<std::string> Suppressions::remarks() const {
  std::vector<std::string> remarks;
  for (const Rule& rule : rules_) {
    if (rule.made_from == 0) continue;
    const auto most = std::ranges::max_element(rule.by_process, {},
                                               [](const auto& process) { return process.second; });
    if (most == rule.by_process.end() || most->second <= rule.made_from) continue;
    remarks.push_back(
      cat({"the rule '", rule.use.rule, "' of ", rule.use.file, " was made from ",
           format_plural(rule.made_from, "finding"), " and hides ", std::to_string(most->second),
           ": a new mistake may be among them; a run without the rule, with "
           "--print-suppressions, makes narrower ones"}));
  }
  return remarks;
}

FindingChain parse_chain(std::string_view pattern) {
  constexpr std::string_view kCaller = " < ", kLine = " @ ";
  FindingChain chain;
  const std::size_t at = pattern.find(kLine);
  if (at != std::string_view::npos) chain.line = trim(pattern.substr(at + kLine.size()));
  pattern = pattern.substr(0, at);
  if (at == std::string_view::npos && pattern.find(kCaller) == std::string_view::npos) return {};
  for (std::size_t begin = 0;;) {
    const std::size_t end = pattern.find(kCaller, begin);
    chain.names.emplace_back(trim(pattern.substr(begin, end - begin)));
    if (end == std::string_view::npos) return chain;
    begin = end + kCaller.size();
  }
}

std::string chain_text(const FindingChain& chain) {
  std::string text;
  for (const std::string& name : chain.names) text += (text.empty() ? "" : " < ") + name;
  return chain.line.empty() ? text : text + " @ " + chain.line;
}

std::string call_of(const ReportedFinding& finding) {
  if (!finding.api.empty() || finding.stacks.empty()) return finding.api;
  return finding.stacks[0].api;
}

bool matches(const FindingChain& chain, const ReportedFinding& finding) {
  if (chain.names.empty() || !matches_line(chain.line, finding)) return false;
  const std::vector<Frame> frames = own_frames(finding);
  if (matches_from(chain.names, 0, frames)) return true;
  return chain.names.size() > 1 && glob_match(chain.names[0], call_of(finding)) &&
         matches_from(chain.names, 1, frames);
}

bool matches_a_kind(std::string_view pattern) {
  const std::vector<const DetectorInfo*> all = detectors();
  return std::any_of(all.begin(), all.end(),
                     [pattern](const DetectorInfo* info) { return glob_match(pattern, info->id); });
}

} // namespace gmt
