// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/cube.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gmt::executor {
namespace {

struct OnFace {
  std::uint32_t face = 0;
  float along = 0, s = 0, t = 0;
};

// What is no number is less than all that are.
float length_of(float part) { return std::isnan(part) ? -1 : std::fabs(part); }

OnFace on_face(const float (&d)[3]) {
  const float x = length_of(d[0]), y = length_of(d[1]), z = length_of(d[2]);
  if (z >= x && z >= y) {
    if (d[2] < 0) return {5, z, -d[0], -d[1]};
    return {4, z, d[0], -d[1]};
  }
  if (y >= x) {
    if (d[1] < 0) return {3, y, d[0], -d[2]};
    return {2, y, d[0], d[2]};
  }
  if (d[0] < 0) return {1, x, d[2], -d[1]};
  return {0, x, -d[2], -d[1]};
}

// A GPU multiplies a direction by the reciprocal of its largest part. That of a tiny one is
// infinite, and that of a huge one 0; what is 0 times infinity is no number.
float scaled(float part, float largest) {
  constexpr float kTiny = 0x1p-126f, kHuge = 0x1p126f,
                  kNone = std::numeric_limits<float>::quiet_NaN();
  if (largest < kTiny) return part == 0 || std::isnan(part) ? kNone : std::copysign(1.0f, part);
  return largest > kHuge ? part * 0.0f : part;
}

// From -1 to 1 on a face to a part of it.
float part_of(float offset, float along) {
  const float at = offset / along;
  return std::isnan(at) ? 0.5f : (at + 1) / 2;
}

} // namespace

CubePoint cube_point(const float (&direction)[3]) {
  const float largest =
    std::fmax(std::fmax(std::fabs(direction[0]), std::fabs(direction[1])), std::fabs(direction[2]));
  float d[3];
  for (int i = 0; i < 3; ++i) d[i] = scaled(direction[i], largest);
  const OnFace on = on_face(d);
  return {on.face, {part_of(on.s, on.along), part_of(on.t, on.along)}};
}

CubeTexel cube_texel(std::uint32_t face, std::int64_t x, std::int64_t y, std::uint32_t size) {
  const std::int64_t n = size;
  if (x >= 0 && x < n && y >= 0 && y < n) return {face, x, y};
  // In halves of a texel
  const auto s = static_cast<float>(2 * x + 1 - n), t = static_cast<float>(2 * y + 1 - n);
  const auto m = static_cast<float>(n);
  const float directions[kCubeFaces][3] = {{m, -t, -s}, {-m, -t, s}, {s, m, t},
                                           {s, -m, -t}, {s, -t, m},  {-s, -t, -m}};
  const OnFace on = on_face(directions[face]);
  const auto number = [&](float offset) {
    return std::min((static_cast<std::int64_t>(offset) + n) / 2, n - 1);
  };
  return {on.face, number(on.s), number(on.t)};
}

} // namespace gmt::executor
