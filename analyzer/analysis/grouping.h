// SPDX-License-Identifier: Apache-2.0
// Equal findings become one: same kind, call, group and stacks. Works while findings come in, so
// that a mistake made a million times costs one entry.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/detectors/detector.h"

namespace gmt {

class Grouping : public Findings {
public:
  // Findings have the range that is open where they are made; with `by_range` those of others stay
  // apart.
  explicit Grouping(const Ranges& ranges, bool by_range = false)
      : ranges_(ranges), by_range_(by_range) {}
  void add(Finding finding) override;
  void not_checked(NotChecked what) override;
  // What comes now belongs to this call.
  void at(const Event& e) {
    time_ = e.time;
    thread_ = e.thread;
  }
  void report_left_out();           // after the last one
  void at_end() { at_end_ = true; } // what comes now belongs to no event

  // In the order of their first examples. Later ones are not joined with those that were taken.
  std::vector<Finding> take_findings() {
    by_key_.clear();
    of_kinds_.clear();
    return std::exchange(findings_, {});
  }
  std::vector<NotChecked> take_not_checked() { return std::move(not_checked_); }

  // Of more findings that differ, only the number is known (docs/traces.md). Each kind has some.
  static constexpr std::size_t kMostFindings = 8192, kFewestOfAKind = 256;
  static constexpr std::size_t kMostNotChecked = 1000;

private:
  struct OfKind {
    std::size_t kept = 0;
    std::uint64_t left_out = 0;
  };

  bool has_room(const std::string& kind);
  std::string key_of(const Finding& finding) const;

  const Ranges& ranges_;
  bool by_range_;
  bool at_end_ = false;
  std::uint64_t time_ = 0;
  std::uint32_t thread_ = 0;
  std::vector<Finding> findings_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::map<std::string, OfKind> of_kinds_;
  std::vector<NotChecked> not_checked_;
};

} // namespace gmt
