// SPDX-License-Identifier: Apache-2.0
// The whole interface of an output format: one file in formats/, registered by one object at its
// bottom. Formats see only this, report.h and what a report consists of.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace gmt {

enum class TableChoice : std::uint8_t { kAuto, kAll, kNone };

// What a kind of finding is: half a line, and its section of docs/findings/.
struct KindHelp {
  std::string title, text;
};

// Columns of a text that goes into a file.
inline constexpr std::size_t kFileWidth = 100;

struct OutputOptions {
  bool color = false;
  bool links = false; // names of files lead to them, as terminals with OSC 8 show it
  std::size_t width = kFileWidth;
  std::size_t limit = 0;    // findings shown, 0 = all; what is held back is always counted
  unsigned stack_depth = 0; // frames shown of each stack, 0 = all
  // Text: those that say more than the totals do, and few rows
  TableChoice tables = TableChoice::kAuto;
  // Text: lines of all findings together, 0 = all. The rest is in a file that the user asked for
  std::size_t finding_lines = 0;
  // The folder of the program's sources, absolute; empty if it is not known. Formats that leave
  // the machine name files relative to it
  std::string source_root = {};
  bool group_by_range = false; // findings of different NVTX ranges were kept apart
  Severity fail_on = Severity::kError;
  std::uint64_t perfetto_size = 200'000'000; // bytes, at most
  std::function<KindHelp(std::string_view kind)> help_of = nullptr;
};

struct OutputInfo {
  std::string_view id;    // --format ID
  std::string_view title; // half a line for help
  void (*write)(const Report&, const OutputOptions&, std::ostream&);
  bool needs_stacks = false;   // ProcessReport::stacks
  bool needs_history = false;  // of memory, which the analysis makes only if it is asked to
  bool needs_timeline = false; // ProcessReport::timeline
};

class OutputRegistration {
public:
  explicit OutputRegistration(const OutputInfo& info);
  const OutputInfo info;
  const OutputRegistration* const next;
};

std::vector<const OutputInfo*> outputs(); // sorted by id

} // namespace gmt
