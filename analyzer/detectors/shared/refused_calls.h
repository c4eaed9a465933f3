// SPDX-License-Identifier: Apache-2.0
// Calls that the simulated device refused because it does not implement them: no mistake of the
// program. Whether a failed call is one of them is known when its refusal has been read, which may
// come behind it, so findings wait here until the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "analyzer/detectors/detector.h"

namespace gmt {

class RefusedCalls {
public:
  explicit RefusedCalls(const ProcessFacts& facts) : facts_(facts) {}

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
  struct Held {
    Finding finding;
    std::string_view names[2]; // of the call, as the trace and as the program has it
  };
  Refusal* refusal_of(const Held& held);

  const ProcessFacts& facts_;
  std::map<std::string, Refusal, std::less<>> refused_; // by function
  // By function, the runtime's function around it, call stack and range
  std::map<std::tuple<std::uint16_t, std::uint16_t, std::uint32_t, std::string>, Held> held_;
};

} // namespace gmt
