// SPDX-License-Identifier: Apache-2.0
// What a thread gets from a texture: which texels its coordinates mean, and how they are joined.
#pragma once

#include "simulated_cuda/executor/machine/textures/texels.h"
#include "simulated_cuda/executor/machine/warp.h"

namespace gmt::executor {

// Where a thread samples.
struct SamplePoint {
  std::uint32_t dimensions = 1; // of the coordinates
  bool is_cube = false;
  float at[3] = {};
  std::int32_t texel[3] = {}; // where the instruction has integers
  bool is_texel = false;
  std::uint32_t layer = 0; // too large ones, and so negative ones, mean the last
  float level = 0;
  bool has_level = false, has_gradient = false;
  float dx[3] = {}, dy[3] = {};
  std::int32_t offset[3] = {};
  bool gathers = false;
  std::uint32_t component = 0; // of a gather
};

// The thread's accesses of linear memory are checked; what is refused gives 0.
Texel sample(Warp& w, const Instruction* in, std::uint32_t lane, const Texture& t,
             const SamplePoint& point);

} // namespace gmt::executor
