// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/live_series.h"

#include <algorithm>
#include <array>

namespace gmt {
namespace {

constexpr std::size_t kWindows = 8;
constexpr std::size_t kFewestMinima = 4 * kWindows;

} // namespace

void LiveSeries::end_minimum() {
  in_last_ = 0;
  if (minima_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    minima_[i] = {minima_[2 * i].order, std::min(minima_[2 * i].bytes, minima_[2 * i + 1].bytes),
                  std::min(minima_[2 * i].blocks, minima_[2 * i + 1].blocks)};
  }
  minima_.resize(kMost / 2);
  stride_ *= 2;
}

// Windows of equal length behind the first quarter, in which a program warms up. Each must rise by
// most of what they rise on average, or by no less than the one before: a cache that fills rises
// less and less. None brings more than the others together: that would be a jump.
std::optional<LiveSeries::Rise> LiveSeries::rise() const {
  if (minima_.size() < kFewestMinima) return std::nullopt;
  const std::uint64_t begin = minima_.front().order + (last_order_ - minima_.front().order) / 4;
  const std::uint64_t length = (last_order_ - begin) / kWindows + 1;
  constexpr Minimum kNothing{0, UINT64_MAX, UINT64_MAX};
  std::array<Minimum, kWindows> windows;
  windows.fill(kNothing);
  for (const Minimum& next : minima_) {
    if (next.order < begin) continue;
    Minimum& window = windows[(next.order - begin) / length];
    if (next.blocks < window.blocks) window = {next.order, window.bytes, next.blocks};
    window.bytes = std::min(window.bytes, next.bytes);
  }
  const Minimum &first = windows.front(), &last = windows.back();
  if (last.bytes == kNothing.bytes || last.bytes <= first.bytes ||
      last.blocks < first.blocks + kWindows - 1)
    return std::nullopt;
  const std::uint64_t bytes = last.bytes - first.bytes, blocks = last.blocks - first.blocks;
  // Of what a window rises on average: 70 %
  const std::uint64_t fewest_bytes = bytes / (kWindows - 1) / 10 * 7;
  const std::uint64_t fewest_blocks = std::max<std::uint64_t>(blocks * 7 / 10 / (kWindows - 1), 1);
  std::uint64_t rise_before = 1;
  for (std::size_t w = 1; w < kWindows; ++w) {
    const Minimum &before = windows[w - 1], &window = windows[w];
    const bool is_known = before.bytes != kNothing.bytes && window.bytes != kNothing.bytes;
    if (!is_known || window.bytes < before.bytes + std::min(fewest_bytes, rise_before) ||
        window.blocks < before.blocks + fewest_blocks)
      return std::nullopt;
    rise_before = window.bytes - before.bytes;
    if (rise_before > bytes / 2) return std::nullopt;
  }
  const auto orders = static_cast<double>(last.order - first.order);
  return Rise{static_cast<double>(bytes) / orders, static_cast<double>(blocks) / orders};
}

} // namespace gmt
