// SPDX-License-Identifier: Apache-2.0
// All logs of a process as one stream in the order of its process-wide counter. A tree of losers: the next event
// costs log2(logs) comparisons of numbers that lie side by side. Used by EventStream.
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
  const Event* next();
  const std::vector<std::unique_ptr<LogReader>>& logs() const { return logs_; }

private:
  struct Entry {
    std::uint64_t order = LogReader::kEnd;
    std::uint32_t log = 0;
    bool operator<(const Entry& other) const {
      return order != other.order ? order < other.order : log < other.log;
    }
  };
  void replay(Entry entry);

  std::vector<std::unique_ptr<LogReader>> logs_;
  std::vector<Entry> losers_; // [1, leaves): the loser of the match at each inner node
  std::size_t leaves_ = 1;    // a power of two
  Entry winner_;
  bool started_ = false;
};

} // namespace gmt
