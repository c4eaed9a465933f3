// SPDX-License-Identifier: Apache-2.0
// Whether the program may have given up because the simulated device could not do something: it
// refused a call that it does not implement, or could not run a launch. What a program leaves
// behind then is no mistake of its own.
#pragma once

#include <string>

#include "analyzer/detectors/detector.h"

namespace gmt {

class SimulatorTrouble {
public:
  // What its detector has to watch for it: from the first trouble on releases, too.
  Wants wants() const {
    return gmt::wants(EventKind::kExecution) | (what_.empty() ? 0 : gmt::wants(EventKind::kFree));
  }
  // False if the event is of a kind that it does not watch.
  bool take(const Event& e, const ProcessFacts& facts);

  // Half a sentence; empty if there was no trouble, or the program went on and took down what it
  // had made: it ended well, and released memory behind the first trouble.
  std::string why_given_up(const Ending& ending) const;

private:
  void take_execution(const Event& e, const ProcessFacts& facts);

  std::string what_; // the first trouble
  bool has_released_ = false;
};

} // namespace gmt
