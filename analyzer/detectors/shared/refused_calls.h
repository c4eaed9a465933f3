// SPDX-License-Identifier: Apache-2.0
// Calls that the simulated device refused because it does not implement them: no mistake of the
// program. Whether a failed call is one of them is known when its refusal has been read, which may
// come behind it, so findings wait here until the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/held_findings.h"

namespace gmt {

class RefusedCalls {
public:
  explicit RefusedCalls(const ProcessFacts& facts) : facts_(facts), held_(facts) {}

  void note(const Event& execution); // a kExecution record
  // Whether the failed call may have been refused so.
  bool may_be(const Event& e) const;
  void hold(const Event& e, Finding finding); // about such a call
  // Adds what was held, and says what was refused without a finding.
  void finish(Findings& findings);

private:
  struct Refusal {
    std::string what; // of the function; empty: all of it
    std::uint64_t calls = 0;
    bool has_finding = false;
  };
  struct Names { // of the call, as the trace and as the program has it
    std::string_view recorded, called;
  };
  Refusal* refusal_of(const Names& names);

  const ProcessFacts& facts_;
  std::map<std::string, Refusal, std::less<>> refused_; // by function
  HeldFindings<Names> held_;
};

} // namespace gmt
