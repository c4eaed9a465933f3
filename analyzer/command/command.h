// SPDX-License-Identifier: Apache-2.0
// The command's table of subcommands and what they share. main() calls dispatch(); every subcommand
// is one cmd_*.cpp with one entry function and one row of commands(). `help` is printed from the
// same rows. Messages go to stderr as one line "gpumemtrace: ..."; what a person can mend is a
// UserError, caught in main().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/user_error.h"
#include "analyzer/command/options/options.h"

namespace gmt {

struct CommandInfo {
  std::string_view name;
  CommandId id;
  std::string_view usage;   // what follows "gpumemtrace "
  std::string_view summary; // its line in the list of commands
  std::string_view examples;
  int (*run)(const Settings&);
};

std::span<const CommandInfo> commands();
const CommandInfo* find_command(std::string_view name);

int dispatch(std::vector<std::string> arguments); // without argv[0]; returns the exit status

int command_run(const Settings&); // run, check and record: Settings::command says which
int command_report(const Settings&);
int command_diff(const Settings&);
int command_top(const Settings&);
int command_follow(const Settings&);
int command_dump(const Settings&);
int command_last(const Settings&);
int command_attach(const Settings&);
int command_replay(const Settings&);
int command_pack(const Settings&);
int command_clean(const Settings&);
int command_cache(const Settings&);
int command_nvcc(const Settings&); // Settings::words: all words behind "nvcc"
int command_help(const Settings&);
void print_help_of(const CommandInfo&); // `gpumemtrace check --help`

std::string tool_version();
void say(std::string_view sentence); // "gpumemtrace: sentence\n" to stderr

} // namespace gmt
