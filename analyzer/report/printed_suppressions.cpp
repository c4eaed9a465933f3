// SPDX-License-Identifier: Apache-2.0
// Rules made from findings, see suppressions.h. A rule is the chain of callers from the first own
// frame outwards: at least three names, of which constructors do not count, and as many as
// distinguish the finding from all others of its kind. Where chains are equal, or have one name
// alone, the source line joins them, else the CUDA call.
#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include "analyzer/base/printable.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/source_text.h"
#include "analyzer/report/suppressions.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

constexpr std::size_t kFewestNames = 3;
constexpr std::size_t kLongestRuleName = 160, kLongestRuleLine = 120;

struct Candidate {
  const ReportedFinding* finding = nullptr;
  std::vector<std::string> key; // kind, and the names of the chain
  std::size_t fewest = 0;       // names that a rule needs
  bool needs_more = false;      // than names
};
constexpr std::size_t kNamesBegin = 1; // in a key

// A message of several lines must not end the comment.
std::string comment_of(const ReportedFinding& finding) {
  std::string comment = finding.message;
  std::ranges::replace_if(comment, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return printable(comment);
}

// As a glob that a terminal may show: each byte that it must not see becomes a '?'.
std::string as_glob(std::string text) {
  if (printable(text) == text) return text;
  std::ranges::replace_if(
    text,
    [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
    },
    '?');
  return text;
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most; // UTF-8
  text.resize(most);
  return text + "*";
}

std::string rule_name(const Frame& frame) {
  if (frame.function.empty()) return name_of_frame(frame) + "*"; // a library's version
  std::string name(bare_function(frame.function));
  const bool is_numbered =
    name.find("lambda") != std::string::npos || name.find("$_") != std::string::npos;
  if (!frame.language.empty() || is_numbered || name.size() > kLongestRuleName)
    name = name_of_frame(frame);
  return as_glob(cut(std::move(name), kLongestRuleName));
}

Candidate candidate_of(const ReportedFinding& finding) {
  Candidate candidate{.finding = &finding, .key = {finding.kind}};
  std::size_t counted = 0;
  for (const Frame& frame : own_frames(finding)) {
    candidate.key.push_back(rule_name(frame));
    if (counted < kFewestNames) ++candidate.fewest;
    if (!is_constructor(frame)) ++counted;
  }
  candidate.needs_more = candidate.key.size() <= kNamesBegin + 1;
  return candidate;
}

std::size_t common_begin(const Candidate& a, const Candidate& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a.key, b.key).in1 - a.key.begin());
}

// `other` stands next to it in the order of keys.
void distinguish(Candidate& candidate, const Candidate& other) {
  const std::size_t common = common_begin(candidate, other);
  if (common < kNamesBegin) return;
  const std::size_t names = candidate.key.size() - kNamesBegin;
  candidate.needs_more = candidate.needs_more || common == candidate.key.size();
  candidate.fewest = std::max(candidate.fewest, std::min(common - kNamesBegin + 1, names));
}

// Next to each other in the order of keys stand those that have most in common.
void distinguish_all(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> order;
  for (Candidate& candidate : candidates) order.push_back(&candidate);
  std::ranges::stable_sort(order, {}, &Candidate::key);
  for (std::size_t i = 1; i < order.size(); ++i) {
    distinguish(*order[i - 1], *order[i]);
    distinguish(*order[i], *order[i - 1]);
  }
}

// Empty if neither a call stack nor a line is known.
std::string rule_of(const Candidate& candidate) {
  const ReportedFinding& finding = *candidate.finding;
  FindingChain chain;
  const auto names = candidate.key.begin() + kNamesBegin;
  if (names == candidate.key.end()) return {};
  chain.names.assign(names, names + static_cast<std::ptrdiff_t>(candidate.fewest));
  if (candidate.needs_more && !finding.source_lines.empty())
    chain.line = as_glob(cut(tidy_line(finding.source_lines.back()), kLongestRuleLine));
  if (candidate.needs_more && chain.line.empty() && !call_of(finding).empty())
    chain.names.insert(chain.names.begin(), call_of(finding));
  // One name alone would be a rule for all stacks that have it anywhere.
  if (chain.names.size() == 1 && chain.line.empty()) chain.names.emplace_back("*");
  return finding.kind + ":" + chain_text(chain);
}

} // namespace

void print_suppressions(const Report& report, std::ostream& out) {
  std::vector<Candidate> candidates;
  for (const ReportedFinding& finding : report.findings)
    candidates.push_back(candidate_of(finding));
  distinguish_all(candidates);
  std::map<std::string, std::map<std::size_t, std::uint64_t>> made_from; // by rule and process
  for (const Candidate& candidate : candidates)
    ++made_from[rule_of(candidate)][candidate.finding->process];
  for (const Candidate& candidate : candidates) {
    const std::string rule = rule_of(candidate);
    const auto at = made_from.find(rule);
    if (at == made_from.end()) continue; // printed already
    out << "# " << comment_of(*candidate.finding) << '\n';
    if (rule.empty()) {
      out << "# (no rule: the finding has no call stack; '" << candidate.finding->kind
          << ":*' would leave out all of its kind)\n";
      continue;
    }
    const auto most =
      std::ranges::max_element(at->second, {}, [](const auto& process) { return process.second; });
    out << "# made from " << format_plural(most->second, "finding") << '\n' << rule << '\n';
    made_from.erase(at);
  }
}

} // namespace gmt
