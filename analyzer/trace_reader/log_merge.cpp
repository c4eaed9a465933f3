// SPDX-License-Identifier: Apache-2.0
// Makes runs, see log_merge.h. Each run drains at least one log's batch, so this ends.

#include "analyzer/trace_reader/log_merge.h"

#include <algorithm>
#include <utility>

namespace gmt {

Merge::Merge(std::vector<std::unique_ptr<LogReader>> logs) : logs_(std::move(logs)) {
  for (const auto& log : logs_) active_.push_back(log.get());
}

void Merge::read_on() {
  if (at_ != run_.size()) return;
  if (follows_) limit_ = newest_order();
  active_.clear();
  for (const auto& log : logs_) {
    log->read_on();
    active_.push_back(log.get());
  }
}

void Merge::follow(bool is_running) {
  follows_ = is_running;
  limit_ = is_running ? 0 : UINT64_MAX;
  for (const auto& log : logs_) log->follow(is_running);
}

void Merge::add(std::unique_ptr<LogReader> log) {
  log->follow(follows_);
  logs_.push_back(std::move(log));
}

std::uint64_t Merge::newest_order() const {
  std::uint64_t newest = 0;
  for (const auto& log : logs_) newest = std::max(newest, log->newest_order());
  return newest;
}

bool Merge::next_run() {
  std::erase_if(active_, [](LogReader* log) { return !log->make_ready(); });
  at_ = decoded_until_ = 0;
  run_.clear();
  if (active_.empty()) return false;
  gather();
  if (gathered_.empty()) return false; // all are newer than they may be
  put_in_order();
  return true;
}

// Takes from each log what no record still unread can come before.
void Merge::gather() {
  std::uint64_t limit = limit_;
  for (const LogReader* log : active_) {
    if (!log->is_complete()) limit = std::min(limit, log->ready().back().order);
  }
  gathered_.clear();
  lowest_ = UINT64_MAX;
  highest_ = 0;
  for (LogReader* log : active_) {
    std::size_t taken = 0;
    for (const LogReader::Record& record : log->ready()) {
      if (record.order > limit) break;
      gathered_.push_back({record, log});
      ++taken;
    }
    if (taken == 0) continue;
    lowest_ = std::min(lowest_, log->ready()[0].order);
    highest_ = std::max(highest_, log->ready()[taken - 1].order);
    log->take(taken);
  }
}

void Merge::put_in_order() {
  if (highest_ - lowest_ < 8 * gathered_.size() + 1024) {
    by_order_.assign(static_cast<std::size_t>(highest_ - lowest_) + 1, 0);
    bool unique = true;
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      std::uint32_t& entry =
        by_order_[static_cast<std::size_t>(gathered_[i].record.order - lowest_)];
      unique = unique && entry == 0;
      entry = static_cast<std::uint32_t>(i + 1);
    }
    if (unique) {
      for (const std::uint32_t entry : by_order_) {
        if (entry != 0) run_.push_back(gathered_[entry - 1]);
      }
      return;
    }
  }
  // Equal orders: as the logs are numbered.
  std::ranges::stable_sort(gathered_, {}, [](const Item& item) { return item.record.order; });
  run_.swap(gathered_);
}

} // namespace gmt
