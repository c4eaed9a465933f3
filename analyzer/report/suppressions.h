// SPDX-License-Identifier: Apache-2.0
// Rules of the user that leave findings out of the report: `kind:glob` and `kind:chain` lines,
// docs/suppressions.md. Every use is counted, so that a report always says what was held back and
// why. A printed rule carries the number of findings that it was made from: a report says where it
// hides more.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/report/report.h"

namespace gmt {

// A chain of callers, and the source line of its innermost function.
struct FindingChain {
  std::vector<std::string> names; // patterns, innermost first; the last may be "*": any more, or
                                  // none
  std::string line;               // a pattern; empty: any line
};

class Suppressions {
public:
  // Throws UserError (usage) if the file cannot be read or a line is no rule.
  void add_file(const std::filesystem::path& file);
  // One line of a file; comments and empty lines are accepted. Throws UserError (usage).
  void add_line(std::string_view line, const std::string& file, unsigned number);

  // Whether a rule covers the finding; the first that does is counted.
  bool suppress(const ReportedFinding& finding);
  std::vector<SuppressionUse> used() const; // in the order of the files and lines
  std::vector<std::string> remarks() const; // of rules that hide more than they were made from
  std::size_t size() const { return rules_.size(); }

private:
  struct Rule {
    std::string kind, pattern;
    FindingChain chain;          // of a pattern that is one, else empty
    std::uint64_t made_from = 0; // findings of one process; 0: not known
    SuppressionUse use;
    std::map<std::size_t, std::uint64_t> by_process;
  };
  std::vector<Rule> rules_;
  std::uint64_t made_from_ = 0; // as the comment above says
};

// Whether any finding there is has a kind that the pattern matches.
bool matches_a_kind(std::string_view pattern);

// "cudaFree < release < main @ cudaFree(p);"; names is empty if the pattern is no chain.
FindingChain parse_chain(std::string_view pattern);
std::string chain_text(const FindingChain& chain);
bool matches(const FindingChain& chain, const ReportedFinding& finding);

// The call with which a chain may begin: "cudaFree"; may be empty.
std::string call_of(const ReportedFinding& finding);

// Rules ready to paste, one a distinct finding of the report, with what they would suppress as a
// comment. Each distinguishes its finding from all others of the report, as far as stacks and lines
// can.
void print_suppressions(const Report& report, std::ostream& out);

} // namespace gmt
