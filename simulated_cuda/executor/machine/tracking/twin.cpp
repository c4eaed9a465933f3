// SPDX-License-Identifier: Apache-2.0
// The two programs are decoded alike, so what differs is only what tracking has added.
#include "simulated_cuda/executor/machine/tracking/twin.h"

namespace gmt::executor {

bool make_twin(Program& tracked, const Program& plain) {
  if (!tracked.unsupported.reason.empty() || tracked.features.size() != plain.features.size() ||
      tracked.constants.size() != plain.constants.size() + kTwinConstants ||
      tracked.functions.size() != plain.functions.size())
    return false;
  for (std::size_t f = 0; f < plain.functions.size(); ++f) {
    const Code& code = *plain.functions[f];
    Code& same = *tracked.functions[f];
    if (same.tracked_positions.size() != code.instructions.size() + 1) continue;
    for (std::size_t i = 0; i < code.instructions.size(); ++i)
      same.instructions[same.tracked_positions[i].own].number = code.instructions[i].number;
  }
  return true;
}

} // namespace gmt::executor
