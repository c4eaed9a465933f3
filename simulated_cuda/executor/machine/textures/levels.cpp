// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/levels.h"

#include "simulated_cuda/executor/machine/textures/axis.h"
#include "simulated_cuda/executor/machine/textures/filter.h"

#include <algorithm>
#include <cmath>

namespace gmt::executor {
namespace {

// How many texels of level 0 lie between neighbours, as a logarithm. A GPU's is an approximation of
// its own, which differs where both gradients are of the same size.
float level_by_gradients(const Texture& t, const SamplePoint& point) {
  const TexelRows& rows = t.levels.front();
  const std::uint32_t sizes[] = {rows.width, rows.height, rows.depth};
  float of_x = 0, of_y = 0;
  for (std::uint32_t d = 0; d < axes_of(t); ++d) {
    const float scale = t.is_normalized ? static_cast<float>(sizes[d]) : 1;
    of_x += point.dx[d] * scale * (point.dx[d] * scale);
    of_y += point.dy[d] * scale * (point.dy[d] * scale);
  }
  return 0.5f * std::log2(std::max(of_x, of_y));
}

} // namespace

LevelPair levels_of(const Texture& t, const SamplePoint& point) {
  LevelPair pair;
  const auto last = static_cast<float>(t.levels.size() - 1);
  if (last == 0) return pair;
  const float level = point.has_gradient ? level_by_gradients(t, point) : point.level;
  constexpr double kMostLevels = 1 << 20;
  double whole =
    std::isnan(level) ? 0 : std::clamp<double>(level, -kMostLevels, kMostLevels) * kWholeWeight;
  whole = std::trunc(whole);
  if (point.has_level || point.has_gradient) whole += std::trunc(double{t.bias} * kWholeWeight);
  whole = std::max(whole, std::floor(double{t.least_level} * kWholeWeight + 0.5));
  whole = std::min(whole, std::floor(double{t.most_level} * kWholeWeight + 0.5));
  const auto parts = static_cast<std::uint32_t>(std::clamp<double>(whole, 0, last * kWholeWeight));
  if (!t.interpolates_levels) {
    pair.first = (parts + kWholeWeight / 2) / kWholeWeight;
    return pair;
  }
  pair.first = parts / kWholeWeight;
  pair.weight = parts % kWholeWeight;
  pair.second = pair.first + (pair.weight != 0 ? 1 : 0);
  return pair;
}

} // namespace gmt::executor
