// SPDX-License-Identifier: Apache-2.0
// The loser tree. Leaves that have no log play with order kEnd, which loses to everything.

#include "analyzer/merge.h"

#include <utility>

namespace gmt {

Merge::Merge(std::vector<std::unique_ptr<LogReader>> logs) : logs_(std::move(logs)) {
  while (leaves_ < logs_.size()) leaves_ *= 2;
  // Play all first matches bottom-up: winners of the lower level meet in the upper one.
  losers_.resize(leaves_);
  std::vector<Entry> winners(2 * leaves_);
  for (std::size_t i = 0; i < leaves_; ++i) {
    winners[leaves_ + i] = {i < logs_.size() ? logs_[i]->order() : LogReader::kEnd, static_cast<std::uint32_t>(i)};
  }
  for (std::size_t node = leaves_ - 1; node >= 1; --node) {
    Entry a = winners[2 * node], b = winners[2 * node + 1];
    if (b < a) std::swap(a, b);
    winners[node] = a;
    losers_[node] = b;
  }
  winner_ = winners[1];
}

void Merge::replay(Entry entry) {
  for (std::size_t node = (leaves_ + entry.log) / 2; node >= 1; node /= 2) {
    Entry& loser = losers_[node];
    const bool lost = loser < entry;
    const Entry winner = lost ? loser : entry;
    loser = lost ? entry : loser;
    entry = winner;
  }
  winner_ = entry;
}

const Event* Merge::next() {
  if (started_ && winner_.order != LogReader::kEnd) {
    LogReader& log = *logs_[winner_.log];
    log.advance();
    replay({log.order(), winner_.log});
  }
  started_ = true;
  return winner_.order == LogReader::kEnd ? nullptr : &logs_[winner_.log]->event();
}

} // namespace gmt
