// SPDX-License-Identifier: Apache-2.0
// The whole interface of an output format: one file in formats/, registered by one object at its
// bottom. Formats see only this, report.h and what a report consists of.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace gmt {

enum class TableChoice : std::uint8_t { kAuto, kAll, kNone };

struct OutputOptions {
  bool color = false;
  std::size_t limit = 0;    // findings shown, 0 = all; what is held back is always counted
  unsigned stack_depth = 0; // frames shown of each stack, 0 = all
  // Text: those that say more than the totals do, and few rows
  TableChoice tables = TableChoice::kAuto;
};

struct OutputInfo {
  std::string_view id;    // --format ID
  std::string_view title; // half a line for help
  void (*write)(const Report&, const OutputOptions&, std::ostream&);
  bool needs_history = false; // of memory, which the analysis makes only if it is asked to
};

class OutputRegistration {
public:
  explicit OutputRegistration(const OutputInfo& info);
  const OutputInfo info;
  const OutputRegistration* const next;
};

std::vector<const OutputInfo*> outputs(); // sorted by id

} // namespace gmt
