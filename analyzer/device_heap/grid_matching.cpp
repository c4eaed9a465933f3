// SPDX-License-Identifier: Apache-2.0
// Matches grids and launches, see grid_matching.h. Both come in rising order and are matched in it,
// so a launch once passed over is asked about again only by slide().

#include "analyzer/device_heap/grid_matching.h"

#include <algorithm>

#include "analyzer/symbols/demangle.h"
#include "trace/cuda_constants.h"

namespace gmt {
namespace {

constexpr std::uint64_t kLookBack = 4096;     // launches that one grid is compared with
constexpr std::size_t kMaxWindow = 1'000'000; // launches kept
// cuda.h: CU_STREAM_LEGACY, as 0; CU_STREAM_PER_THREAD, one for each thread.

} // namespace

bool is_ordered(const KernelLaunch& earlier, const KernelLaunch& later) {
  const bool same_stream =
    earlier.stream == later.stream && earlier.stream != cuda::kStreamPerThread;
  const bool with_legacy = (earlier.stream <= cuda::kStreamLegacy && later.is_blocking) ||
                           (later.stream <= cuda::kStreamLegacy && earlier.is_blocking);
  return same_stream || with_legacy || earlier.waits < later.waits;
}

void DeviceLaunches::add(KernelLaunch launch, std::string_view name) {
  launch.kernel = name_of(name);
  launch.index = ++count_;
  launch.number = ++names_[launch.kernel].launches;
  window_.push_back(launch);
  if (window_.size() < kMaxWindow / 2) return; // the later, the more kernels are known by name
  align(false);
  trim();
}

void DeviceLaunches::conclude() { align(true); }

void DeviceLaunches::restart() {
  window_.clear();
  matches_.clear();
  count_ = hidden_ = 0;
  next_ = 0;
  for (Name& name : names_) name.before = name.launches;
}

void DeviceLaunches::forget() {
  restart();
  for (Name& name : names_) name.launches = name.before = 0;
}

std::uint32_t DeviceLaunches::name_of(std::string_view linked) {
  const auto [at, is_new] =
    by_name_.try_emplace(std::string(linked), static_cast<std::uint32_t>(names_.size()));
  if (is_new) {
    const std::string full = demangle(linked);
    names_.push_back({.full = full, .base = std::string(unscoped_function(full))});
    if (!full.empty()) bases_.insert(names_.back().base);
  }
  return at->second;
}

void DeviceLaunches::trim() {
  const std::uint64_t matched = matches_.empty() ? 0 : matches_.back().launch.index;
  while (window_.size() > kMaxWindow ||
         (!window_.empty() && window_.front().index + kLookBack < matched)) {
    window_.pop_front();
  }
}

// Each grid once its launch must have been recorded.
void DeviceLaunches::align(bool at_end) {
  const std::vector<DeviceGrid>& grids = heap_.grids();
  for (; next_ < grids.size(); ++next_) {
    if (grids[next_].id <= hidden_) continue;
    const std::uint64_t last_possible = grids[next_].id - hidden_;
    if (last_possible > count_ && !at_end) return;
    if (!take_newest(next_, std::min(last_possible, count_))) slide(next_);
  }
}

bool DeviceLaunches::take_newest(std::size_t grid, std::uint64_t last_possible) {
  const std::uint64_t first = matches_.empty() ? 1 : matches_.back().launch.index + 1;
  const std::uint64_t stop =
    last_possible > kLookBack ? std::max(first, last_possible - kLookBack) : first;
  for (std::uint64_t i = last_possible; i >= stop && i != 0; --i) {
    if (!fits(i, grid)) continue;
    match(grid, window_[i - window_.front().index]);
    return true;
  }
  return false;
}

// Nothing is left for this grid: earlier grids may each have taken the launch behind their own,
// because ids that were taken before them were not known of. Moves them one fitting launch back, if
// one of them has room.
bool DeviceLaunches::slide(std::size_t grid) {
  if (matches_.empty() || !fits(matches_.back().launch.index, grid)) return false;
  std::size_t k = matches_.size();
  for (std::uint64_t looked = 0; k-- > 0 && looked < kLookBack; ++looked) {
    const std::uint64_t before = k > 0 ? matches_[k - 1].launch.index : 0;
    std::uint64_t room = matches_[k].launch.index - 1;
    while (room > before && looked < kLookBack && !fits(room, matches_[k].grid)) --room, ++looked;
    if (room > before && fits(room, matches_[k].grid)) {
      const KernelLaunch newest = matches_.back().launch;
      for (std::size_t i = matches_.size() - 1; i > k; --i)
        matches_[i].launch = matches_[i - 1].launch;
      matches_[k].launch = window_[room - window_.front().index];
      match(grid, newest);
      return true;
    }
    if (before == 0 || !fits(before, matches_[k].grid)) return false;
  }
  return false;
}

bool DeviceLaunches::fits(std::uint64_t index, std::size_t grid) const {
  if (window_.empty() || index < window_.front().index || index > window_.back().index)
    return false;
  return fits(window_[index - window_.front().index], grid);
}

bool DeviceLaunches::fits(const KernelLaunch& launch, std::size_t grid) const {
  const std::uint64_t ran = heap_.host_time(heap_.grids()[grid].time);
  const bool is_later = launch.realtime > ran + kDeviceClockError;
  return has_form_of(launch, grid) && !(launch.realtime != 0 && ran != 0 && is_later);
}

bool DeviceLaunches::has_form_of(const KernelLaunch& launch, std::size_t grid) const {
  const DeviceGrid& g = heap_.grids()[grid];
  if (launch.extents != g.extents || launch.block_extents != g.block_extents) return false;
  const std::string& function = heap_.site(g.site).function;
  return !bases_.contains(function) || names_[launch.kernel].base == function;
}

void DeviceLaunches::match(std::size_t grid, const KernelLaunch& launch) {
  matches_.push_back({grid, launch});
  hidden_ = heap_.grids()[grid].id - launch.index;
}

const KernelLaunch* DeviceLaunches::find(std::uint64_t grid) const {
  const auto at = std::lower_bound(
    matches_.begin(), matches_.end(), grid,
    [this](const Match& match, std::uint64_t id) { return heap_.grids()[match.grid].id < id; });
  return at != matches_.end() && heap_.grids()[at->grid].id == grid ? &at->launch : nullptr;
}

} // namespace gmt
