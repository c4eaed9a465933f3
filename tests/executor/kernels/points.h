// SPDX-License-Identifier: Apache-2.0
// Where threads sample textures: around texels, inside, in all directions, at levels.
#pragma once

#include "random_words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

// Where a thread samples: coordinates, of which the last is a layer; the level or two gradients.
struct Point {
  float at[4], dx[4], dy[4];
};
using Points = std::vector<Point>;

// Coordinates around the texels of an axis of n: centres, edges, a little beside, far away.
std::vector<float> along(int n, bool normalized) {
  const float size = static_cast<float>(n);
  std::vector<float> all{0,
                         -0.0f,
                         0.25f,
                         0.5f,
                         0.75f,
                         1,
                         1.5f,
                         2,
                         size - 1,
                         size - 0.5f,
                         size,
                         size + 0.5f,
                         size + 1,
                         2.f * n,
                         2.f * n - 0.5f,
                         2.f * n + 0.25f,
                         3.f * n + 1.25f,
                         -0.25f,
                         -0.5f,
                         -1,
                         -1.5f,
                         -size,
                         -size - 0.5f,
                         -2.f * n - 0.75f,
                         1000.3f,
                         -1000.3f,
                         65536.5f,
                         -65536.5f,
                         1e6f,
                         -1e6f,
                         1.5e7f,
                         -1.5e7f,
                         3e9f,
                         -3e9f,
                         1e20f,
                         -1e20f,
                         INFINITY,
                         -INFINITY,
                         NAN,
                         1e-30f,
                         -1e-30f};
  for (int i = 0; i <= n; i += std::max(1, n / 8)) {
    for (int k = 2; k <= 24; ++k) {
      for (const int sign : {-1, 1}) all.push_back(i + sign * std::ldexp(1.f, -k));
    }
  }
  random_state = 77;
  for (int i = 0; i < 64; ++i) all.push_back((unit() * 3 - 1) * n);
  if (normalized) {
    for (float& each : all) each = each / n;
  }
  return all;
}
Points line(int n, bool normalized) {
  Points all;
  for (const float x : along(n, normalized)) all.push_back({{x, 0, 0, 0}, {}, {}});
  return all;
}
Points plane(int w, int h, bool normalized) {
  Points all = line(w, normalized);
  const auto y = along(h, normalized);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].at[1] = y[(i * 7 + 3) % y.size()];
  return all;
}
Points space(int w, int h, int d, bool normalized) {
  Points all = plane(w, h, normalized);
  const auto z = along(d, normalized);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].at[2] = z[(i * 5 + 1) % z.size()];
  return all;
}
Points with_layers(Points points) {
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].at[3] = static_cast<float>(static_cast<int>(i % 8) - 2);
  return points;
}
// Inside, at multiples of 1/256 or anywhere.
Points inside(int w, int h, int d, int count, bool exact, bool normalized = false) {
  Points all;
  random_state = 4242;
  const int sizes[] = {w, h, d};
  for (int i = 0; i < count; ++i) {
    Point point{};
    for (int k = 0; k < 3; ++k) {
      if (sizes[k] == 0) continue;
      const float at = exact ? float(random_word() % (sizes[k] * 256)) / 256.f : unit() * sizes[k];
      point.at[k] = at * (normalized ? 1.f / sizes[k] : 1);
    }
    all.push_back(point);
  }
  return all;
}
Points directions(int count) {
  Points all;
  random_state = 99;
  for (int i = 0; i < count; ++i) {
    Point point{};
    float(&at)[4] = point.at;
    for (int k = 0; k < 3; ++k) at[k] = unit() * 2 - 1;
    if (i % 16 == 0) at[i / 16 % 3] = 0;
    if (i % 16 == 1) at[0] = at[1];
    if (i % 16 == 2) at[1] = -at[2];
    if (i % 16 == 3) at[0] = at[1] = at[2] = (i & 16) != 0 ? 1.f : -1.f;
    at[3] = static_cast<float>(i % 5) - 1;
    all.push_back(point);
  }
  return all;
}
// Each face at 65 x 65 places, up to its edges.
Points over_faces() {
  Points all;
  for (int face = 0; face < 6; ++face) {
    for (int y = 0; y <= 64; ++y) {
      for (int x = 0; x <= 64; ++x) {
        const float s = static_cast<float>(x) / 32 - 1, t = static_cast<float>(y) / 32 - 1;
        const Point of_face[] = {{{1, -t, -s}}, {{-1, -t, s}}, {{s, 1, t}},
                                 {{s, -1, -t}}, {{s, -t, 1}},  {{-s, -t, -1}}};
        all.push_back(of_face[face]);
      }
    }
  }
  return all;
}
Points strange_directions() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNone = NAN;
  const float parts[] = {-kInfinity, -1, -0.0f, 0, 1, kInfinity, kNone, 1e-42f, 3e38f};
  Points all;
  for (const float x : parts)
    for (const float y : parts)
      for (const float z : parts) all.push_back({{x, y, z}});
  return all;
}
Points of_levels() {
  Points all;
  random_state = 5;
  for (int i = 0; i < 512; ++i) {
    Point point{};
    for (int k = 0; k < 3; ++k) point.at[k] = unit();
    float level = i < 256 ? i / 32.f - 2 : unit() * 8 - 2;
    if (i % 16 == 5) level = std::round(level * 256) / 256 + 1 / 512.f;
    if (i == 500) level = NAN;
    if (i == 501) level = INFINITY;
    if (i == 502) level = -INFINITY;
    point.dx[0] = level;
    point.at[3] = static_cast<float>(i % 3);
    all.push_back(point);
  }
  return all;
}

} // namespace
