// SPDX-License-Identifier: Apache-2.0
// The level that gradients choose, beside what an H100 chose.
#include "simulated_cuda/executor/machine/textures/levels.h"

#include <gtest/gtest.h>

namespace gmt::executor {
namespace {

struct Choice {
  float dx[2], dy[2];
  int level; // times 256
};
// Along an axis, at an angle, at right angles, along each other, and any.
constexpr Choice kChoices[] = {
  {{0.00378137059f, 0}, {0, 0}, 500},
  {{0.00923879538f, 0.00382683426f}, {0, 0}, 879},
  {{0.00707106758f, 0.00707106758f}, {0, 0}, 840},
  {{0.00953306071f, 0.00302005955f}, {-0.00302005955f, 0.00953306071f}, 880},
  {{0.00707106758f, 0.00707106758f}, {-0.00707106758f, 0.00707106758f}, 849},
  {{0.00984374993f, 0}, {0.00625000009f, 0}, 896},
  {{0.00984374993f, 0}, {0.00984374993f, 0}, 971},
  {{0.00937500037f, 0}, {0, 0.0078125f}, 836},
  {{-0.0314837769f, -0.0988113359f}, {0.0360702723f, -0.0139204552f}, 1743},
  {{0.0461506248f, 0.0968498439f}, {-0.0415070578f, -0.097242102f}, 1869},
  {{0.00112500857f, -0.00237724721f}, {0.000150852095f, -0.000318149512f}, 384},
  {{-0.014920353f, -0.00995364692f}, {0.0047177719f, 0.000942525105f}, 1083},
};

TEST(Gradients, ChooseTheLevelOfAGpu) {
  Texture t;
  t.dimensions = 2;
  t.is_normalized = t.interpolates_levels = true;
  t.most_level = 10;
  for (std::uint32_t size = 1024; size > 0; size /= 2) {
    TexelRows rows;
    rows.width = rows.height = size;
    t.levels.push_back(rows);
  }
  for (const Choice& choice : kChoices) {
    SamplePoint point;
    point.dimensions = 2;
    point.has_gradient = true;
    for (int d = 0; d < 2; ++d) {
      point.dx[d] = choice.dx[d];
      point.dy[d] = choice.dy[d];
    }
    const LevelPair pair = levels_of(t, point);
    EXPECT_NEAR(static_cast<int>(pair.first * 256 + pair.weight), choice.level, 2);
  }
}

} // namespace
} // namespace gmt::executor
