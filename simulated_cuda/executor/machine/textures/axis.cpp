// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/textures/axis.h"

#include <algorithm>
#include <cmath>

namespace gmt::executor {
namespace {

constexpr int kFractionBits = 21;    // of a coordinate that is a part of the whole
constexpr double kFarthest = 0x1p40; // texels

// Only parts of the whole repeat. Faces of a cube without seams go on at their edges.
AddressMode mode_of(const Texture& t, std::uint32_t dimension) {
  if (has_no_seams(t)) return AddressMode::kClamp;
  const AddressMode mode = t.modes[dimension];
  const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  return repeats && !t.is_normalized ? AddressMode::kClamp : mode;
}

// In texels. A NaN is 0, and so is what is too far to have a point where it repeats.
double point_of(const Texture& t, AddressMode mode, float at, std::uint32_t size) {
  if (std::isnan(at)) return 0;
  double point = at;
  if (t.is_normalized) {
    const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
    if (repeats) {
      if (std::isinf(at)) return 0;
      point = std::fmod(point, 2.0); // both modes repeat with 2
    }
    point = std::ldexp(std::floor(std::ldexp(point, kFractionBits)), -kFractionBits) * size;
  }
  return std::clamp(point, -kFarthest, kFarthest);
}

} // namespace

bool has_no_seams(const Texture& t) { return t.is_cube && t.is_seamless; }

std::uint32_t axes_of(const Texture& t) {
  return t.is_cube || t.dimensions == 1 ? 2 : t.dimensions;
}

AxisTexels axis_texels(const Texture& t, std::uint32_t dimension, float at, std::uint32_t size,
                       std::int32_t offset, Around around) {
  const AddressMode mode = mode_of(t, dimension);
  const double point = point_of(t, mode, at, size);
  if (around == Around::kTexel) return {static_cast<std::int64_t>(std::floor(point)) + offset, 0};
  std::int64_t parts = static_cast<std::int64_t>(std::floor(point * 256 + 0.5)) - 128;
  parts += std::int64_t{offset} * 256;
  if (mode == AddressMode::kClamp && around == Around::kWeighted && !has_no_seams(t))
    parts = std::clamp<std::int64_t>(parts, 0, (std::int64_t{size} - 1) * 256);
  return {parts >> 8, static_cast<std::uint32_t>(parts & 0xff)};
}

bool move_inside(const Texture& t, std::uint32_t dimension, std::uint32_t size, std::int64_t* at) {
  const std::int64_t n = size;
  switch (mode_of(t, dimension)) {
  case AddressMode::kWrap: *at = (*at % n + n) % n; return true;
  case AddressMode::kClamp: *at = std::clamp<std::int64_t>(*at, 0, n - 1); return true;
  case AddressMode::kMirror: {
    const std::int64_t twice = (*at % (2 * n) + 2 * n) % (2 * n);
    *at = twice < n ? twice : 2 * n - 1 - twice;
    return true;
  }
  case AddressMode::kBorder: break;
  }
  return *at >= 0 && *at < n;
}

} // namespace gmt::executor
