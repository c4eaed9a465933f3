// SPDX-License-Identifier: Apache-2.0
// How a process ended, from its own last words (kExit records) and from what its parent saw.
#pragma once

#include "analyzer/model/event.h"
#include "analyzer/model/process.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

class LastWords {
public:
  void follow(const Event& exit); // a kExit record

  bool recorded() const { return recorded_; } // a log goes on to them
  // As far as the records so far say. Asks the system whether the process is still there.
  Ending ending(const TraceDir& trace) const;

private:
  Ending said_;
  bool recorded_ = false;
};

// Whether a process that ended in this way, as far as is known, may still be writing its trace.
bool may_be_running(const Ending& ending, const TraceInfo& info);

} // namespace gmt
