// SPDX-License-Identifier: Apache-2.0
// Which launches wait for the device's word: see pending_launches.h.

#include "analyzer/detectors/shared/pending_launches.h"

#include <algorithm>
#include <iterator>

namespace gmt {

void PendingLaunches::add(const MemoryWork& launch, Works inferred) {
  pending_.insert_or_assign(launch.work.order & kOrderMask,
                            Pending{launch, std::move(inferred), {}});
}

PendingLaunches::Works PendingLaunches::on_accesses(const Event& e, const Heap& heap) {
  const event::Execution& said = e.execution();
  const auto at = pending_.find(said.call);
  if (said.call == 0 || at == pending_.end()) return {};
  Pending& pending = at->second;
  const std::size_t room = kMostRows - pending.rows.size();
  const auto fitting = said.rows.first(std::min(said.rows.size(), room));
  pending.rows.insert(pending.rows.end(), fitting.begin(), fitting.end());
  if (said.has_more) return {};
  Works works = by_block(pending, said, heap);
  pending.rows.clear();
  if (pending.launch.is_of_graph) return works; // more nodes come
  if (!said.is_whole) std::ranges::move(pending.inferred, std::back_inserter(works));
  pending_.erase(at);
  return works;
}

PendingLaunches::Works PendingLaunches::by_block(const Pending& pending,
                                                 const event::Execution& said, const Heap& heap) {
  Works works;
  MemoryWork each = pending.launch;
  each.launch = std::make_shared<LaunchFacts>(LaunchFacts{.may_wait = said.may_wait});
  each.kernel = said.kernel;
  each.index = said.index();
  each.before = said.before();
  for (const event::UsedRows& rows : pending.rows) {
    const Block* block = heap.find_live(rows.address);
    if (block == nullptr) continue;
    const auto same = [&](const auto& work) { return work.second.address == block->address; };
    auto at = std::ranges::find_if(works, same);
    if (at == works.end()) at = works.insert(works.end(), {each, *block});
    at->first.used.push_back(rows);
    at->first.rows.address = at->first.used.front().address;
  }
  return works;
}

PendingLaunches::Works PendingLaunches::overdue() {
  if (pending_.size() <= kMost) return {};
  Works works = std::move(pending_.begin()->second.inferred);
  pending_.erase(pending_.begin());
  return works;
}

PendingLaunches::Works PendingLaunches::rest() {
  Works works;
  for (auto& [order, pending] : pending_)
    std::ranges::move(pending.inferred, std::back_inserter(works));
  pending_.clear();
  return works;
}

} // namespace gmt
