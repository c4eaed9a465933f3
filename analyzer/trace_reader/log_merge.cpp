// SPDX-License-Identifier: Apache-2.0
// Makes runs, see log_merge.h. Each run drains at least one log's batch, so this ends.

#include "analyzer/trace_reader/log_merge.h"

#include <algorithm>
#include <utility>

namespace gmt {
namespace {

void insert_by_number(std::vector<LogReader*>& logs, LogReader* log) {
  logs.insert(std::ranges::upper_bound(logs, log->number(), {}, &LogReader::number), log);
}

} // namespace

Merge::Merge(std::vector<std::unique_ptr<LogReader>> logs) : logs_(std::move(logs)) {
  for (const auto& log : logs_) open_.push_back(log.get());
  active_ = open_;
}

void Merge::follow_on(const std::vector<std::size_t>& logs) {
  if (logs.size() < 2) return;
  std::vector<bool> waits(logs_.size());
  Chain chain{logs_[logs.front()].get(), {logs.rbegin(), logs.rend() - 1}};
  for (const std::size_t log : chain.waiting) waits[log] = true;
  std::erase_if(open_, [&waits](const LogReader* log) { return waits[log->number()]; });
  active_ = open_;
  chains_.push_back(std::move(chain));
}

// Orders rise from file to file but for small inversions: the next one is there before the last
// records are handed out. Active logs stay sorted by their numbers.
void Merge::begin_next_files() {
  for (Chain& chain : chains_) {
    while (!chain.waiting.empty()) {
      chain.log->make_ready();
      if (!chain.log->is_complete()) break;
      const std::size_t next = chain.waiting.back();
      chain.waiting.pop_back();
      chain.log = logs_[next].get();
      insert_by_number(open_, chain.log);
      insert_by_number(active_, chain.log);
    }
  }
}

void Merge::read_on() {
  if (at_ != end_) return;
  if (follows_) limit_ = newest_order();
  for (LogReader* log : open_) log->read_on();
  active_ = open_;
}

void Merge::follow(bool is_running) {
  follows_ = is_running;
  limit_ = is_running ? 0 : UINT64_MAX;
  for (const auto& log : logs_) log->follow(is_running);
}

void Merge::add(std::unique_ptr<LogReader> log) {
  log->follow(follows_);
  open_.push_back(log.get());
  logs_.push_back(std::move(log));
}

std::uint64_t Merge::newest_order() const {
  std::uint64_t newest = newest_over_;
  for (const LogReader* log : open_) newest = std::max(newest, log->newest_order());
  return newest;
}

void Merge::close_ended_files() {
  std::erase_if(open_, [this](LogReader* log) {
    if (!log->is_over()) return false;
    newest_over_ = std::max(newest_over_, log->newest_order());
    log->rest();
    return true;
  });
}

bool Merge::next_run() {
  if (!chains_.empty()) begin_next_files();
  if (std::erase_if(active_, [](LogReader* log) { return !log->make_ready(); }) != 0)
    close_ended_files();
  at_ = decoded_until_ = end_ = 0;
  if (active_.empty()) return false;
  take();
  if (count_ == 0) return false; // all are newer than they may be
  put_in_order();
  end_ = run_.size();
  return true;
}

// Takes from each log what no record still unread can come before.
void Merge::take() {
  std::uint64_t limit = limit_;
  for (const LogReader* log : active_) {
    if (!log->is_complete()) limit = std::min(limit, log->ready().back().order);
  }
  taken_.clear();
  lowest_ = UINT64_MAX;
  highest_ = 0;
  count_ = 0;
  for (LogReader* log : active_) {
    const auto ready = log->ready();
    const auto behind = std::ranges::upper_bound(ready, limit, {}, &LogReader::Record::order);
    const auto records = ready.first(static_cast<std::size_t>(behind - ready.begin()));
    if (records.empty()) continue;
    taken_.push_back({records, log});
    lowest_ = std::min(lowest_, records.front().order);
    highest_ = std::max(highest_, records.back().order);
    count_ += records.size();
    log->take(records.size());
  }
}

void Merge::put_in_order() {
  run_.clear();
  if (highest_ - lowest_ < 8 * count_ + 1024 && put_by_order()) return;
  run_.clear();
  for (const Taken& taken : taken_) {
    for (const LogReader::Record& record : taken.records) run_.push_back({record, taken.log});
  }
  // Equal orders: as the logs are numbered.
  std::ranges::stable_sort(run_, {}, [](const Item& item) { return item.record.order; });
}

// False if two records have the same order.
bool Merge::put_by_order() {
  run_.resize(static_cast<std::size_t>(highest_ - lowest_) + 1);
  for (const Taken& taken : taken_) {
    for (const LogReader::Record& record : taken.records) {
      Item& item = run_[static_cast<std::size_t>(record.order - lowest_)];
      if (item.log != nullptr) return false;
      item = {record, taken.log};
    }
  }
  if (run_.size() != count_) std::erase_if(run_, [](const Item& item) { return !item.log; });
  return true;
}

} // namespace gmt
