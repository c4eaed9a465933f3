// SPDX-License-Identifier: Apache-2.0
// From a direction to a face of a cube and a point on it.
#pragma once

namespace gmt::executor {

struct CubePoint {
  unsigned face = 0; // +x, -x, +y, -y, +z, -z
  float at[2] = {};  // parts of the face
};

CubePoint cube_point(const float (&direction)[3]);

} // namespace gmt::executor
