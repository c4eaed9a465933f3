// SPDX-License-Identifier: Apache-2.0
// What the command knows about a run that no trace can say: why the program was not checked, which
// processes escaped, which still run, where the traces are. Turns that into the report's remarks
// and into check's verdict.
#pragma once

#include <string>
#include <vector>

#include "analyzer/command/run/child_process.h"
#include "analyzer/command/run/run_traces.h"
#include "analyzer/report/report.h"

namespace gmt {

struct RunFacts {
  std::vector<std::string> arguments; // the program's, argv[0] first
  std::string path;
  // One sentence: why the program ran unchecked; empty if it was instrumented
  std::string unchecked;
  std::vector<std::string> remarks; // sentences from before the start
  bool simulated = false;
  std::string trace_dir;
  bool was_idle = false; // processes waited for `attach`
  std::vector<TraceHead> traces;
  std::vector<std::string> unreadable; // one sentence a trace
  std::vector<Note> notes;
  Outcome outcome;
};

// Adds to the report (of no traces at all, if there were none) everything above that a reader must
// know.
void add_run_facts(const RunFacts& facts, Report& report);

// What the report cannot know of how the run went.
RunKnowledge knowledge_of(const RunFacts& facts);

// The whole output of `record`: at most three lines, and one for what --capture did.
std::vector<std::string> record_lines(const RunFacts& facts);

} // namespace gmt
