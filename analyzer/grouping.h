// SPDX-License-Identifier: Apache-2.0
// Equal findings become one: same kind, call, group and stacks. Works while findings come in, so that a
// mistake made a million times costs one entry. Used by the analysis as the detectors' Findings.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/detector.h"

namespace gmt {

class Grouping : public Findings {
public:
  void add(Finding finding) override;
  void not_checked(NotChecked what) override;

  std::vector<Finding> take_findings() {
    return std::move(findings_);
  } // in the order of their first examples
  std::vector<NotChecked> take_not_checked() { return std::move(not_checked_); }

private:
  std::vector<Finding> findings_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::vector<NotChecked> not_checked_;
};

} // namespace gmt
