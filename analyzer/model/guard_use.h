// SPDX-License-Identifier: Apache-2.0
// What --guard did in a process, from the newest GuardCounts record: counts of allocations, by what
// became of them.
#pragma once

#include <array>
#include <cstdint>

#include "trace/guard.h"

namespace gmt {

struct GuardUse {
  bool asked = false; // --guard or --guard-sample
  bool sampled = false;
  std::uint64_t fenced = 0, most_bytes = 0, checked = 0, unchecked = 0, reused = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(trace::GuardPlain::kCount)> plain = {};
  std::uint64_t exports = 0; // blocks that another process could not get
};

} // namespace gmt
