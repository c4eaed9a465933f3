// SPDX-License-Identifier: Apache-2.0
// Faces of a cube and points on them, as an H100 finds them.
#include "simulated_cuda/executor/machine/textures/cube.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

TEST(Cube, DirectionsThatAreNone) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(cube_point({NAN, -1, infinity}).face, 2u) << "the only number that is left";
  EXPECT_EQ(cube_point({-1, 3e38f, -1}).face, 4u) << "its reciprocal is 0";
  const CubePoint tiny = cube_point({1e-42f, -1e-42f, 0});
  EXPECT_EQ(tiny.face, 3u);
  EXPECT_EQ(tiny.at[0], 1);
}

// Each texel of a large face's edge has its neighbour, and that one has it in turn.
TEST(Cube, EdgesMeetTexelByTexel) {
  constexpr std::int64_t kSize = 16384, kLast = kSize - 1;
  for (std::uint32_t face = 0; face < kCubeFaces; ++face) {
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{5}, kLast}) {
      for (const auto& [x, y] :
           {std::pair<std::int64_t, std::int64_t>{-1, i}, {kSize, i}, {i, -1}, {i, kSize}}) {
        const CubeTexel there = cube_texel(face, x, y, kSize);
        EXPECT_NE(there.face, face);
        bool returns = false;
        const std::pair<int, int> steps[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
        for (const auto& [dx, dy] : steps) {
          const std::int64_t u = there.x + dx, v = there.y + dy;
          const bool is_outside = u < 0 || v < 0 || u > kLast || v > kLast;
          const CubeTexel back = cube_texel(there.face, u, v, kSize);
          returns |= is_outside && back.face == face &&
                     back.x == std::clamp<std::int64_t>(x, 0, kLast) &&
                     back.y == std::clamp<std::int64_t>(y, 0, kLast);
        }
        EXPECT_TRUE(returns) << face << ": " << x << ", " << y;
      }
    }
  }
}

} // namespace
} // namespace gmt::executor
