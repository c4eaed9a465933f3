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
  // A kExecution record. True if it is the first trouble: releases matter from now on.
  bool note(const Event& execution, const ProcessFacts& facts);
  void note_release(const Event& free) {
    if (free.succeeded()) has_released_ = true;
  }

  // Half a sentence; empty if there was no trouble, or the program went on and took down what it
  // had made: it ended well, and released memory behind the first trouble.
  std::string why_given_up(const Ending& ending) const;

private:
  std::string what_; // the first trouble
  bool has_released_ = false;
};

} // namespace gmt
