// SPDX-License-Identifier: Apache-2.0
// What the driver said of the kernels of refused launches, by the order of the launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "analyzer/model/event.h"

namespace gmt {

// 0 is unknown.
struct LaunchLimits {
  bool is_known = false;          // the trace has them
  std::uint64_t shared_bytes = 0; // dynamic, that it asked for
  std::uint64_t most_shared_bytes = 0;
  std::uint64_t static_shared_bytes = 0;
  std::uint64_t registers = 0; // of a thread
  std::uint64_t most_threads = 0;
  std::uint64_t grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0; // asked for
};

class LaunchLimitsTable {
public:
  void add(const Event& e) { // a kLaunchLimits record
    if (by_order_.size() >= kMost) return;
    const event::LaunchLimits& limits = e.launch_limits();
    by_order_[limits.launch] = {true,
                                limits.shared_bytes,
                                limits.most_shared_bytes,
                                limits.static_shared_bytes,
                                limits.registers,
                                limits.most_threads,
                                limits.grid_y,
                                limits.grid_z,
                                limits.block_x,
                                limits.block_y,
                                limits.block_z};
  }
  LaunchLimits find(std::uint64_t launch) const {
    const auto at = by_order_.find(launch);
    return at != by_order_.end() ? at->second : LaunchLimits{};
  }

private:
  static constexpr std::size_t kMost = 4096; // the interposer records no more

  std::unordered_map<std::uint64_t, LaunchLimits> by_order_;
};

} // namespace gmt
