// SPDX-License-Identifier: Apache-2.0
// From a coordinate to texels along one dimension, with the precision that an H100 has.
#pragma once

#include "simulated_cuda/executor/machine/textures/texture.h"

#include <cstdint>

namespace gmt::executor {

// What a coordinate leads to: the texel around it, or the two whose centres are next to it, which
// are joined or given one by one.
enum class Around : std::uint8_t { kTexel, kWeighted, kNeighbours };

// Texels `first` and the next one, which has `weight` parts of 256; without interpolation 0. They
// may lie outside.
struct AxisTexels {
  std::int64_t first = 0;
  std::uint32_t weight = 0;
};

// A cube whose faces go on at their edges.
bool has_no_seams(const Texture& t);

// Dimensions that coordinates have: a layer is none. A row of texels has a second one, where all
// coordinates are 0: it matters where a border lies around the row.
std::uint32_t axes_of(const Texture& t);

// With the mode that clamps, a point between weighted texels is moved inside.
AxisTexels axis_texels(const Texture& t, std::uint32_t dimension, float at, std::uint32_t size,
                       std::int32_t offset, Around around);

// Which texel is meant by a number that may lie outside, by the texture's mode. False: the border.
bool move_inside(const Texture& t, std::uint32_t dimension, std::uint32_t size, std::int64_t* at);

} // namespace gmt::executor
