// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/cube.h"

#include <cmath>

namespace gmt::executor {

CubePoint cube_point(const float (&d)[3]) {
  const float x = std::fabs(d[0]), y = std::fabs(d[1]), z = std::fabs(d[2]);
  CubePoint point;
  float along = 0, s = 0, t = 0;
  if (z >= x && z >= y) {
    point.face = d[2] < 0 ? 5 : 4;
    along = z;
    s = d[2] < 0 ? -d[0] : d[0];
    t = -d[1];
  } else if (y >= x) {
    point.face = d[1] < 0 ? 3 : 2;
    along = y;
    s = d[0];
    t = d[1] < 0 ? -d[2] : d[2];
  } else {
    point.face = d[0] < 0 ? 1 : 0;
    along = x;
    s = d[0] < 0 ? d[2] : -d[2];
    t = -d[1];
  }
  if (along == 0) along = 1; // no direction: the middle of +z
  point.at[0] = (s / along + 1) / 2;
  point.at[1] = (t / along + 1) / 2;
  return point;
}

} // namespace gmt::executor
