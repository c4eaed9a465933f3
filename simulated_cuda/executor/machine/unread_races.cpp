// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/unread_races.h"

#include <memory>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kLoads = 0xffffffff00000000ull; // of an entry

} // namespace

void UnreadRaces::keep(Block& block, std::uint64_t granule, const AccessFacts& facts,
                       const OtherThread& other) {
  if (block.unread == nullptr) block.unread = std::make_unique<UnreadRaces>();
  std::uint64_t& entry = block.races[granule];
  block.unread->races_[granule] = {static_cast<std::uint32_t>(entry), facts, other};
  entry = (entry & kLoads) | race::kUnread;
}

void UnreadRaces::look(Block& block, std::uint64_t granule, bool reads, ReportSink& reports) {
  std::uint64_t& entry = block.races[granule];
  if (static_cast<std::uint32_t>(entry) != race::kUnread) return;
  auto& races = block.unread->races_;
  const auto found = races.find(granule);
  entry = (entry & kLoads) | found->second.store;
  if (reads) reports.race(found->second.facts, found->second.other);
  races.erase(found);
}

void UnreadRaces::forget(Block& block) {
  if (block.unread == nullptr) return;
  for (const auto& [granule, race] : block.unread->races_) {
    std::uint64_t& entry = block.races[granule];
    if (static_cast<std::uint32_t>(entry) == race::kUnread) entry = (entry & kLoads) | race.store;
  }
  block.unread->races_.clear();
}

} // namespace gmt::executor
