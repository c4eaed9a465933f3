// SPDX-License-Identifier: Apache-2.0
// Faces of a cube and points on them, as an H100 finds them.
#include "simulated_cuda/executor/machine/textures/cube.h"

#include <gtest/gtest.h>

namespace gmt::executor {
namespace {

TEST(Cube, ADirectionLeadsToAPointOfAFace) {
  const CubePoint point = cube_point({-4, 1, 2});
  EXPECT_EQ(point.face, 1u);
  EXPECT_EQ(point.at[0], 0.75f);
  EXPECT_EQ(point.at[1], 0.375f);
}

TEST(Cube, ZComesBeforeYAndYBeforeX) {
  EXPECT_EQ(cube_point({1, 1, 1}).face, 4u);
  EXPECT_EQ(cube_point({-1, 1, -1}).face, 5u);
  EXPECT_EQ(cube_point({1, -1, 0}).face, 3u);
  EXPECT_EQ(cube_point({-1, 0, 0.5f}).face, 1u);
}

TEST(Cube, NoDirectionIsTheMiddleOfAFace) {
  const CubePoint point = cube_point({0, 0, 0});
  EXPECT_EQ(point.face, 4u);
  EXPECT_EQ(point.at[0], 0.5f);
  EXPECT_EQ(point.at[1], 0.5f);
}

} // namespace
} // namespace gmt::executor
