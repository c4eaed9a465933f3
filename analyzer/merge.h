// SPDX-License-Identifier: Apache-2.0
// All logs of a process as one stream in the order of its process-wide counter. Works in runs: all records up
// to the order that every log has been read to. Since the counter is dense, a run is put in order by writing
// each record to the place that its order names; a run where that does not work out (damage) is sorted. Used
// by EventStream.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/log_reader.h"

namespace gmt {

class Merge {
public:
  explicit Merge(std::vector<std::unique_ptr<LogReader>> logs);

  // The next event, null after the last. Valid until the next call.
  const Event* next() {
    if (at_ == run_.size() && !next_run()) return nullptr;
    const Item& item = run_[at_++];
    return &item.log->event(item.record);
  }
  const std::vector<std::unique_ptr<LogReader>>& logs() const { return logs_; }

private:
  struct Item {
    LogReader::Record record;
    LogReader* log;
  };
  bool next_run();
  void gather();
  void put_in_order();

  std::vector<std::unique_ptr<LogReader>> logs_;
  std::vector<LogReader*> active_;    // not yet drained, in the order of logs_
  std::vector<Item> gathered_;        // a run as the logs hold it
  std::vector<std::uint32_t> places_; // order - lowest -> index into gathered_ + 1
  std::vector<Item> run_;
  std::size_t at_ = 0;
  std::uint64_t lowest_ = 0, highest_ = 0; // orders in gathered_
};

} // namespace gmt
