// SPDX-License-Identifier: Apache-2.0
// A finding in words, as a person reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/finding.h"

namespace gmt {

// The source line of a frame as it stands in its file, and the part of it that was being called.
struct CodeLine {
  std::size_t frame = 0;             // index into the stack's frames
  std::string text;                  // without blanks at its ends; a tab is one blank
  std::size_t code_size = 0;         // bytes in front of the comment that ends the line
  std::size_t caret = 0, length = 1; // bytes of the text; the first one alone where nothing is
                                     // known
};

struct LabelledStack : CallStack {
  std::string label;      // "allocated here", "first freed here", "freed again here", ...
  bool shows_call = true; // beside the label: neither message nor label names the call
  // Of the first of the user's frames that has a line; none if the line is not known
  std::optional<CodeLine> code = {};
};

// Of a finding against those of an earlier run that were accepted.
enum class BaselineState : std::uint8_t { kNoBaseline, kNew, kGrown, kKnown };

struct ReportedFinding : FindingFacts {
  std::string message; // one sentence: what happened, with numbers
  std::string advice;  // what to do
  // The library that did it for itself: "cuBLAS"; empty if it is the program's own
  std::string owner;
  // The end of the message that says so: "; cuBLAS holds it: its ..."; may be empty
  std::string owner_clause;
  Measure measure = Measure::kMistakes;
  std::vector<LabelledStack> stacks; // the call at fault first, then backwards in time
  std::size_t process = 0;           // index into Report::processes
  // The source lines that distinguish it from other mistakes of its functions, innermost first;
  // empty if they are not known
  std::vector<std::string> source_lines = {};
  // The same for the same mistake in another run; no two findings of a report have one
  std::string fingerprint = {};
  std::string function_fingerprint = {}; // by the rule that knows functions alone; also unique
  BaselineState baseline = BaselineState::kNoBaseline;
  // Which other processes have an equal finding that is not shown: "in 8 of 8 ranks"
  std::string shared = {};
};

} // namespace gmt
