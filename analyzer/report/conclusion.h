// SPDX-License-Identifier: Apache-2.0
// What a run amounts to: whether it passed, and each reason why it did not. Concluded once, from
// all that is known of the run; every format says this and decides nothing by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/process.h"

namespace gmt {

struct Report;

// Launches on the simulated device, of all processes.
struct LaunchCounts {
  std::uint64_t all = 0;       // that CUDA accepted, those of graphs included
  std::uint64_t ran = 0;       // to their end, or to a mistake of their own
  std::uint64_t unable = 0;    // the device could not run them, or not to their end
  std::uint64_t left_out = 0;  // an option left them out, or ended them
  std::uint64_t cut_short = 0; // the process ended while they ran
  std::uint64_t unknown() const {
    const std::uint64_t known = ran + unable + left_out + cut_short;
    return all - (known < all ? known : all);
  }
};
// None if no process had the simulated device.
std::optional<LaunchCounts> count_launches(const Report& report);

struct Failure {
  enum class Reason : std::uint8_t {
    kUnchecked,  // the program ran without the checker: no driver, a static program
    kNoCalls,    // no CUDA call was seen
    kIncomplete, // a part of the run was not recorded, or its record is gone
    kFindings,   // some stand at or above --fail-on
    kUnrun,      // launches that the simulated device could not run
    kRunTime,    // the simulated device ended the program (--run-time)
    kProgram,    // the program failed by itself
  };
  Reason reason = Reason::kProgram;
  std::string brief;    // a few words for one line: "killed by SIGABRT"
  std::string sentence; // without its full stop: "the program was killed by SIGABRT"
};
// For programs and for names of cases: "unchecked", "program-failed", ...
std::string_view id_of(Failure::Reason reason);

struct Conclusion {
  std::vector<Failure> failures; // how the program ended is the last; none: it passed
  int status = 0;                // that the command ends with, as a shell says it
  int signal = 0;                // that killed the program, 0: none did
  std::optional<LaunchCounts> launches = {};

  bool passed() const { return failures.empty(); }
  const Failure* find(Failure::Reason reason) const;
  // Those beside findings, which speak for themselves.
  std::vector<const Failure*> beside_findings() const;
};

// What the report does not know itself.
struct RunKnowledge {
  std::optional<Ending> program = {}; // how it ended; none: as the first process did
  std::string unchecked = {};         // why the program ran without the checker, a sentence
  std::string incomplete = {};        // what of the run was not recorded, a sentence
  Severity fail_on = Severity::kError;
  bool accepts_findings = false; // they are written into a baseline
  bool accepts_unrun = false;    // launches that could not run
};
Conclusion conclude(const Report& report, const RunKnowledge& known);

std::string ending_words(const Ending& ending); // "exit status 0", "killed by SIGKILL"
// "passed", or "failed: " and all reasons
std::string in_words(const Conclusion& conclusion);
// "3 of 40 launches did not run, 1 of 40 was left out"; empty if all ran
std::string launches_in_brief(const LaunchCounts& launches);

} // namespace gmt
