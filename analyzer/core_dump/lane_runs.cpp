// SPDX-License-Identifier: Apache-2.0
#include "analyzer/core_dump/lane_runs.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gmt {
namespace {

constexpr std::size_t kMostEntries = 4'000'000; // 64 times the threads of a whole GPU are damage

} // namespace

void LaneRuns::see(const Extents& block, const Extents& thread) {
  several_blocks_ |= any_ && block_ != block;
  several_threads_ |= any_;
  block_ = block;
  thread_ = thread;
  any_ = true;
}

void LaneRuns::add(const Extents& block, const Extents& thread, const Extents& extents,
                   const LaneAddress& address) {
  Entries& entries = address.is_low_half ? low_halves_ : whole_;
  if (entries.size() >= kMostEntries) {
    full_ = true;
    return;
  }
  const std::uint64_t linear =
    thread[0] + std::uint64_t{extents[0]} * (thread[1] + std::uint64_t{extents[1]} * thread[2]);
  entries.push_back({block, linear, address.address});
}

std::vector<DumpLanes> LaneRuns::joined(Entries& entries) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tuple(e.block, e.thread); });
  std::vector<DumpLanes> runs;
  for (const Entry& e : entries) {
    if (e.thread > UINT32_MAX) continue; // damage
    const auto thread = static_cast<std::uint32_t>(e.thread);
    if (!runs.empty()) {
      DumpLanes& last = runs.back();
      const bool follows = last.block == e.block && thread == last.first_thread + last.count;
      const auto step = static_cast<std::int64_t>(e.address - last.address_of(last.count - 1));
      if (follows && (last.count == 1 || last.stride == step)) {
        last.stride = step;
        ++last.count;
        continue;
      }
    }
    runs.push_back({e.block, thread, 1, e.address, 0});
  }
  full_ |= runs.size() > kMostRuns;
  if (runs.size() > kMostRuns) runs.resize(kMostRuns);
  return runs;
}

void LaneRuns::move_to(DumpFault& fault) {
  if (any_ && !several_blocks_) fault.only_block = block_;
  if (any_ && !several_threads_) fault.only_thread = thread_;
  fault.addresses = joined(whole_);
  fault.low_halves = joined(low_halves_);
  fault.has_more_addresses = full_;
}

} // namespace gmt
