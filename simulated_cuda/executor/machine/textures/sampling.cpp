// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/sampling.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/textures/axis.h"
#include "simulated_cuda/executor/machine/textures/blocks.h"
#include "simulated_cuda/executor/machine/textures/cube.h"
#include "simulated_cuda/executor/machine/textures/filter.h"
#include "simulated_cuda/executor/machine/textures/levels.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gmt::executor {
namespace {

using Axes = std::array<AxisTexels, 3>;

class Sampler {
public:
  Sampler(Warp& w, const Instruction* in, std::uint32_t lane, const Texture& t,
          const SamplePoint& point)
      : w_(w), in_(in), lane_(lane), t_(t), point_(point) {}

  Texel gathered() {
    const Axes axes = at_level(0, Around::kNeighbours);
    // Below left, below right, above right, above left
    static constexpr std::int64_t kSteps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel all;
    for (std::size_t i = 0; i < 4; ++i) {
      const Texel one = bits(axes[0].first + kSteps[i][0], axes[1].first + kSteps[i][1], 0);
      all.word[i] = texel_value(t_, one).word[point_.component];
    }
    return all;
  }

  // One texel, which no other one changes.
  Texel alone(std::uint32_t level) {
    const Axes axes = at_level(level, Around::kTexel);
    return texel_value(t_, bits(axes[0].first, axes[1].first, axes[2].first));
  }

  // The texels of a level, which have `whole` parts together, go to two slices of the sum.
  void add(Sum& sum, std::size_t slice, std::uint32_t level, std::uint32_t whole) {
    const Axes axes = at_level(level, t_.interpolates ? Around::kWeighted : Around::kTexel);
    const std::uint32_t z = axes[2].weight;
    add_slice(sum, slice, axes, axes[2].first, whole - (whole * z + 128) / kWholeWeight);
    if (z != 0)
      add_slice(sum, slice + 1, axes, axes[2].first + 1, (whole * z + 128) / kWholeWeight);
  }

private:
  Axes at_level(std::uint32_t number, Around around) {
    rows_ = &t_.levels[number];
    layer_ = std::min(point_.layer, rows_->depth - 1);
    const std::uint32_t sizes[] = {rows_->width, rows_->height, rows_->depth};
    Axes axes{};
    for (std::uint32_t d = 0; d < axes_of(t_); ++d) {
      if (point_.is_texel) axes[d].first = std::int64_t{point_.texel[d]} + point_.offset[d];
      else axes[d] = axis_texels(t_, d, point_.at[d], sizes[d], point_.offset[d], around);
    }
    return axes;
  }

  void add_slice(Sum& sum, std::size_t slice, const Axes& axes, std::int64_t z,
                 std::uint32_t whole) {
    auto weights = weights_of_slice(whole, axes[0].weight, axes[1].weight);
    const auto x = [&](std::uint32_t i) { return axes[0].first + (i & 1); };
    const auto y = [&](std::uint32_t i) { return axes[1].first + (i >> 1); };
    for (std::uint32_t i = 0; i < 4 && has_no_seams(t_); ++i) {
      if (is_outside(x(i)) && is_outside(y(i))) share_corner(weights, i);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (weights[i] == 0) continue;
      sum.add(slice, has_no_seams(t_) ? bits_of_cube(x(i), y(i)) : bits(x(i), y(i), z), weights[i]);
    }
  }

  bool is_outside(std::int64_t at) const { return at < 0 || at >= rows_->width; }

  // Three faces meet in a corner: there is no fourth texel, and the three have its weight.
  static void share_corner(std::array<std::uint32_t, 4>& weights, std::uint32_t corner) {
    const std::uint32_t whole = std::exchange(weights[corner], 0u), third = (whole + 1) / 3;
    weights[corner ^ 1] += third;
    weights[corner ^ 2] += third;
    weights[corner ^ 3] += whole - 2 * third;
  }

  Texel bits_of_cube(std::int64_t x, std::int64_t y) {
    const std::uint32_t layer = layer_, face = layer % kCubeFaces;
    const CubeTexel at = cube_texel(face, x, y, rows_->width);
    layer_ = layer - face + at.face;
    const Texel texel = bits(at.x, at.y, 0);
    layer_ = layer;
    return texel;
  }

  // By numbers, which may lie outside.
  Texel bits(std::int64_t x, std::int64_t y, std::int64_t z) {
    std::int64_t at[] = {x, y, z};
    const std::uint32_t sizes[] = {rows_->width, rows_->height, rows_->depth};
    for (std::uint32_t d = 0; d < axes_of(t_); ++d) {
      if (!move_inside(t_, d, sizes[d], &at[d])) return border_bits(t_);
    }
    if (t_.is_layered || t_.is_cube) at[2] = layer_;
    if (t_.is_of_blocks()) {
      const auto column = static_cast<std::uint64_t>(at[0]),
                 row = static_cast<std::uint64_t>(at[1]);
      const std::byte* block = rows_->host + column / 4 * t_.texel_bytes() +
                               row / 4 * rows_->pitch +
                               static_cast<std::uint64_t>(at[2]) * rows_->slice;
      return texel_of_block(t_, block, static_cast<std::uint32_t>(row % 4 * 4 + column % 4));
    }
    return load(static_cast<std::uint64_t>(at[0]) * t_.texel_bytes() +
                static_cast<std::uint64_t>(at[1]) * rows_->pitch +
                static_cast<std::uint64_t>(at[2]) * rows_->slice);
  }

  Texel load(std::uint64_t offset) {
    if (rows_->host != nullptr) return texel_bits(t_, rows_->host + offset);
    std::byte bytes[16] = {};
    const std::uint32_t size = t_.texel_bytes();
    const Translation from =
      translate(w_, in_, lane_, Space::kGlobal, rows_->address + offset, size, Access::kLoad, 1);
    if (from.host == nullptr) return texel_bits(t_, bytes);
    if (from.region != nullptr)
      check_global_race(w_, in_, lane_, *from.region, from.offset - from.region->base, size,
                        Access::kLoad, nullptr);
    load_device(bytes, from.host, size);
    return texel_bits(t_, bytes);
  }

  Warp& w_;
  const Instruction* in_;
  const std::uint32_t lane_;
  const Texture& t_;
  const SamplePoint& point_;
  const TexelRows* rows_ = nullptr;
  std::uint32_t layer_ = 0;
};

// Numbers of texels have no mode. Of one dimension they are for linear memory alone.
bool is_inside(const Texture& t, const SamplePoint& point) {
  if (point.level < 0 || point.level >= static_cast<float>(t.levels.size())) return false;
  const TexelRows& rows = t.levels[static_cast<std::size_t>(point.level)];
  const std::uint32_t sizes[] = {rows.width, rows.height, rows.depth};
  for (std::uint32_t d = 0; d < point.dimensions; ++d) {
    const std::int64_t at = std::int64_t{point.texel[d]} + point.offset[d];
    if (at < 0 || at >= sizes[d]) return false;
  }
  return point.dimensions > 1;
}

// What an instruction cannot reach in a texture of another kind is 0.
bool is_reached(const Texture& t, const SamplePoint& point) {
  if (t.is_linear_memory) { // by number alone, and only what is there
    const auto n = std::int64_t{t.levels.front().width};
    return point.is_texel && point.dimensions == 1 && point.texel[0] >= 0 && point.texel[0] < n;
  }
  if (point.is_texel && !is_inside(t, point)) return false;
  if (point.is_cube != t.is_cube) return false;
  return t.is_cube || point.dimensions == t.dimensions ||
         (point.dimensions < t.dimensions && t.dimensions == 2);
}

} // namespace

Texel sample(Warp& w, const Instruction* in, std::uint32_t lane, const Texture& t,
             const SamplePoint& given) {
  if (!is_reached(t, given)) return {};
  SamplePoint point = given;
  if (t.is_cube) {
    const CubePoint on = cube_point(point.at);
    point.at[0] = on.at[0];
    point.at[1] = on.at[1];
    const std::uint32_t cubes = std::max(t.levels.front().depth / kCubeFaces, 1u);
    point.layer = std::min(point.layer, cubes - 1) * kCubeFaces + on.face;
  }
  Sampler sampler(w, in, lane, t, point);
  if (point.gathers) return sampler.gathered();
  const LevelPair levels = levels_of(t, given);
  if ((!t.interpolates || point.is_texel) && levels.weight == 0) return sampler.alone(levels.first);
  Sum sum(t);
  sampler.add(sum, 0, levels.first, kWholeWeight - levels.weight);
  if (levels.weight != 0) sampler.add(sum, 2, levels.second, levels.weight);
  return sum.result();
}

} // namespace gmt::executor
