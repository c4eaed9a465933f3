// SPDX-License-Identifier: Apache-2.0
// Findings of an earlier run that are accepted, so that a check fails only on what is new: a file
// of JSON that a person reviews, one finding a line, sorted. docs/ci.md documents it. The reader
// trusts nothing in the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace gmt {

struct BaselineFinding {
  std::string kind, fingerprint;
  Severity severity = Severity::kError;
  std::uint64_t count = 0, bytes = 0;
  std::string functions;            // "load < main", for people
  std::string function_fingerprint; // by the rule that knows functions alone
};

struct Baseline {
  std::uint64_t peak_bytes = 0; // device memory, the largest of any process
  std::uint64_t live_bytes = 0; // at the end, all processes
  std::vector<BaselineFinding> findings;
};

Baseline baseline_of(const Report& report);
std::string baseline_text(const Baseline& baseline);

// Throws UserError (usage) that says what is wrong; `name` is the file's.
Baseline parse_baseline(std::string_view text, const std::string& name);
Baseline read_baseline(const std::filesystem::path& file);

// How much a count or a size may be above the baseline's.
struct Tolerance {
  std::uint64_t percent = 0;
  bool allows(std::uint64_t now, std::uint64_t before) const;
};

// What a comparison says beside the states of the report's findings.
struct BaselineMatch {
  std::vector<BaselineFinding> gone;
  std::vector<const BaselineFinding*> before; // of each finding of the report; nullptr: it is new
  // Pairs that were known by their functions alone, since one side has no source lines
  std::size_t old_rule = 0;  // the baseline's side
  std::size_t no_source = 0; // this report's
};

// Says of each finding whether it is new.
BaselineMatch mark_states(const Baseline& baseline, Tolerance tolerance, Report& report);
// The same, and what is gone, or was known by functions alone, is said in remarks.
void compare_with(const Baseline& baseline, Tolerance tolerance, Report& report);

// A rule 'max-growth 5%': an error if the peak or the live memory is further above the baseline's.
void check_growth(const Baseline& baseline, Tolerance tolerance, const std::string& rule,
                  Report& report);

} // namespace gmt
