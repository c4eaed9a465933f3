// SPDX-License-Identifier: Apache-2.0
// What stands behind an option: words to values, with the message that lists what is allowed.
// Separate from options.h so that the table of options and the reading of values each fit a page.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/command/options/options.h"

namespace gmt {

enum class InterposerOptionType : std::uint8_t {
  kUint,
  kSize,
  kBool,
  kChoice,
  kLaunches,
  kPattern,
  kName,
  kList,    // of names, parts separated by commas; none if it is empty
  kKernels, // names of kernels, separated by commas
  kLaunch,  // the same, and which of their launches
  kNumbers, // of launches: 10..20
  kPrograms // names of programs without their folders, separated by commas
};

// One row of trace/interposer_options.def.
struct InterposerOption {
  InterposerOptionType type;
  std::string flag;        // "stack-depth"
  std::string environment; // "GPUMEMTRACE_STACK_DEPTH"
  std::string shown_default;
  std::string sentence;
  std::vector<std::string> choices; // kChoice: the words; their numbers are passed on
};

std::span<const InterposerOption> interposer_options();
std::string format_list(); // "json, text"

// FORMAT, of which the last one counts, and FORMAT=FILE, which all do. After read_values().
void read_formats(const std::vector<std::string>& values, Settings& settings);

// Options that CTest gives to compute-sanitizer; `last` as below.
void read_sanitizer_words(const std::function<std::optional<std::string>(const std::string&)>& last,
                          Settings& settings);
// Fills in every option that `last` has a value for; `last` gives the last value written, by option
// name.
void read_values(const std::function<std::optional<std::string>(const std::string&)>& last,
                 Settings& settings);

} // namespace gmt
