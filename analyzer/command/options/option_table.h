// SPDX-License-Identifier: Apache-2.0
// Which command takes which option. The rows of trace/interposer_options.def and of the simulated
// device stand behind the command's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/command/options/options.h"

namespace gmt {

constexpr unsigned bit(CommandId id) { return static_cast<unsigned>(id); }
// The commands that run a program.
inline constexpr unsigned kProgramCommands =
  bit(CommandId::kRun) | bit(CommandId::kCheck) | bit(CommandId::kRecord);

struct OptionRow {
  std::string name;
  std::string value; // what stands for the value in help; empty for a switch
  unsigned commands; // bits
  std::string sentence;
  std::string short_name = {};
  bool is_switch = false; // a switch that may also be written --name=0
  // Of a switch with more words than two, which means the second one where it stands alone
  std::vector<std::string> words = {};
};

const std::vector<OptionRow>& option_rows();

// Null if the command has no such option.
const OptionRow* find_option(std::string_view name, CommandId command);

} // namespace gmt
