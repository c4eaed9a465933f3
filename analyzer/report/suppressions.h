// SPDX-License-Identifier: Apache-2.0
// Rules of the user that leave findings out of the report: `kind:glob` lines, docs/suppressions.md.
// Every use is counted, so that a report always says what was held back and why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/report/report.h"

namespace gmt {

class Suppressions {
public:
  // Throws UserError (usage) if the file cannot be read or a line is no rule.
  void add_file(const std::filesystem::path& file);
  // One line of a file; comments and empty lines are accepted. Throws UserError (usage).
  void add_line(std::string_view line, const std::string& file, unsigned number);

  // Whether a rule covers the finding; the first that does is counted.
  bool suppress(const ReportedFinding& finding);
  std::vector<SuppressionUse> used() const; // in the order of the files and lines
  std::size_t size() const { return rules_.size(); }

private:
  struct Rule {
    std::string kind, pattern;
    SuppressionUse use;
  };
  std::vector<Rule> rules_;
};

// Whether any finding there is has a kind that the pattern matches.
bool matches_a_kind(std::string_view pattern);

// Rules ready to paste, one a distinct finding of the report, with what they would suppress as a
// comment.
void print_suppressions(const Report& report, std::ostream& out);

} // namespace gmt
