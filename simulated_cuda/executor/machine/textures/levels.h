// SPDX-License-Identifier: Apache-2.0
// Which levels of a mipmapped texture a thread samples.
#pragma once

#include "simulated_cuda/executor/machine/textures/sampling.h"

namespace gmt::executor {

// Levels that are joined, the second with `weight` parts of 256; 0: the first alone.
struct LevelPair {
  std::uint32_t first = 0, second = 0;
  std::uint32_t weight = 0;
};

LevelPair levels_of(const Texture& t, const SamplePoint& point);

} // namespace gmt::executor
