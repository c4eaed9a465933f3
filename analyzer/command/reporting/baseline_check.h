// SPDX-License-Identifier: Apache-2.0
// --baseline, --update-baseline and the rule max-growth. The file is read before the program
// starts, so that a wrong one costs no run.
#pragma once

#include <optional>

#include "analyzer/command/options/options.h"
#include "analyzer/report/baseline.h"
#include "analyzer/report/report.h"

namespace gmt {

class BaselineCheck {
public:
  explicit BaselineCheck(const Settings& settings);

  // Marks what is known, and adds findings of broken rules.
  void compare(Report& report) const;
  // Writes the findings of this report into the file, if that was asked for and all was checked.
  void update(const Report& report) const;
  bool is_update() const { return settings_.update_baseline; }

private:
  const Settings& settings_;
  std::optional<Baseline> baseline_;
};

} // namespace gmt
