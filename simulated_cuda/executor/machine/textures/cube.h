// SPDX-License-Identifier: Apache-2.0
// From a direction to a face of a cube and a point on it, and from a face across its edges.
#pragma once

#include <cstdint>

namespace gmt::executor {

inline constexpr std::uint32_t kCubeFaces = 6; // +x, -x, +y, -y, +z, -z

struct CubePoint {
  std::uint32_t face = 0;
  float at[2] = {}; // parts of the face
};

CubePoint cube_point(const float (&direction)[3]);

struct CubeTexel {
  std::uint32_t face = 0;
  std::int64_t x = 0, y = 0;
};

// Of a face of `size` texels: one that lies just outside of it is on the face that meets it there.
// Not beyond a corner.
CubeTexel cube_texel(std::uint32_t face, std::int64_t x, std::int64_t y, std::uint32_t size);

} // namespace gmt::executor
