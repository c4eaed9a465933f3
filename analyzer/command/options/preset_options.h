// SPDX-License-Identifier: Apache-2.0
// Options that stand in no command line: those of gpumemtrace.toml, which is looked for from the
// current folder upwards, and those in GPUMEMTRACE_OPTIONS. The variable counts more than the file,
// and the command line more than both.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/command/options/options.h"

namespace gmt {

// For run, check, record, report and diff; nothing for other commands.
std::vector<std::string> preset_options(CommandId command);

// The nearest gpumemtrace.toml; empty if there is none.
std::filesystem::path config_file();

// The options of the file as words. Names of files in it count from its own folder. It may have
// "name = value" with text, whole numbers, true and false, or a list of texts, and sections of
// commands. Throws UserError (usage) with the line where it has anything else.
std::vector<std::string> config_words(const std::filesystem::path& file, CommandId command);

// A line of options in words, as a shell reads it: blanks, quotes and backslashes.
std::vector<std::string> shell_words(const std::string& line);

} // namespace gmt
