// SPDX-License-Identifier: Apache-2.0
// Boost.Program_options stores the values and lays out the help. Where the options end is decided
// here, because everything behind the program's name is the program's.

#include "analyzer/command/options/options.h"

#include <boost/program_options.hpp>

#include <algorithm>
#include <sstream>

#include "analyzer/base/glob.h"
#include "analyzer/command/command.h"
#include "analyzer/command/options/idle_options.h"
#include "analyzer/command/options/option_table.h"
#include "analyzer/command/options/option_values.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/report/suppressions.h"

namespace gmt {

namespace {

namespace po = boost::program_options;

po::options_description describe(CommandId command) {
  po::options_description description("", 110, 55);
  for (const OptionRow& row : option_rows()) {
    if (!(row.commands & bit(command))) continue;
    const std::string names = row.short_name.empty() ? row.name : row.name + "," + row.short_name;
    if (row.value.empty() && !row.is_switch) {
      description.add_options()(names.c_str(), row.sentence.c_str());
    } else {
      auto* value = po::value<std::vector<std::string>>()->composing();
      if (row.is_switch) value = value->implicit_value({"1"}, "1")->value_name("0|1");
      else value = value->value_name(row.value);
      description.add_options()(names.c_str(), value, row.sentence.c_str());
    }
  }
  return description;
}

std::string command_name(CommandId id) {
  for (const CommandInfo& command : commands())
    if (command.id == id) return std::string(command.name);
  return "?";
}

[[noreturn]] void usage_error(const std::string& message) {
  throw UserError(message, ExitStatus::kUsage);
}

[[noreturn]] void unknown_option(const std::string& written, const std::string& name,
                                 CommandId command) {
  std::string owners;
  for (const CommandInfo& other : commands())
    if (find_option(name, other.id))
      owners += (owners.empty() ? "" : ", ") + std::string(other.name);
  const std::string mine = "'gpumemtrace " + command_name(command) + "'";
  if (!owners.empty())
    usage_error(mine + " takes no option '" + written + "'; it belongs to: " + owners);
  std::vector<std::string> names;
  for (const OptionRow& row : option_rows())
    if (row.commands & bit(command)) names.push_back("--" + row.name);
  const std::string near = nearest("--" + name, names);
  const std::string hint = near.empty() ? "" : "did you mean '" + near + "'? ";
  usage_error("unknown option '" + written + "'; " + hint + "see 'gpumemtrace help " +
              command_name(command) + "'");
}

// A pattern that can match nothing would hide findings, or keep them, against the user's will.
void check_kinds(const std::string& option, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (matches_a_kind(pattern)) continue;
    std::vector<std::string> ids;
    for (const DetectorInfo* detector : detectors()) ids.emplace_back(detector->id);
    const std::string near = nearest(pattern, ids);
    usage_error("'" + pattern + "' of option '--" + option + "' is no kind of finding; " +
                (near.empty() ? "" : "did you mean '" + near + "'? ") +
                "see 'gpumemtrace help findings'");
  }
}

// A check of nothing would pass.
void check_that_kinds_are_left(const Settings& settings) {
  if (settings.only.empty()) return;
  const auto matches = [](const std::vector<std::string>& patterns, std::string_view kind) {
    return std::ranges::any_of(
      patterns, [kind](const std::string& pattern) { return glob_match(pattern, kind); });
  };
  const bool is_any_left = std::ranges::any_of(detectors(), [&](const DetectorInfo* detector) {
    return matches(settings.only, detector->id) && !matches(settings.skip, detector->id);
  });
  if (!is_any_left)
    usage_error("no kind of finding is left: '--skip' leaves out all that '--only' names");
}

// What may follow a switch of the interposer as a word of its own. A program of that name can
// follow "--".
bool is_switch_value(const OptionRow& row, const std::string& word) {
  if (row.is_switch) return word == "0" || word == "1";
  return std::ranges::find(row.words, word) != row.words.end();
}

// The name of the option that the word begins, without dashes and value.
std::string option_name(const std::string& word) {
  const bool is_long = word[1] == '-';
  std::string name = word.substr(0, is_long ? word.find('=') : std::string::npos);
  name.erase(0, is_long ? 2 : 1);
  if (!is_long)
    for (const OptionRow& row : option_rows())
      if (row.short_name == name) return row.name;
  return name;
}

// "-oreport.html" or "-o=report.html" as "--output=report.html"; other words as they are. A word
// without a dot or a slash behind the letter may be a long option that lacks a dash.
std::string spelt_out(const std::string& word, CommandId command) {
  if (word.size() < 3 || word[1] == '-' || find_option(option_name(word), command) != nullptr)
    return word;
  for (const OptionRow& row : option_rows()) {
    if (row.short_name != word.substr(1, 1) || row.value.empty()) continue;
    if (word[2] == '=') return "--" + row.name + word.substr(2);
    if (word.find_first_of("./", 2) != std::string::npos)
      return "--" + row.name + "=" + word.substr(2);
  }
  return word;
}

// "--name" or "--name=value" of the words from `i` on, which moves to the option's last word.
std::string read_option(CommandId command, std::span<const std::string> arguments, std::size_t& i) {
  const std::string word = spelt_out(arguments[i], command);
  const std::size_t equals = word[1] == '-' ? word.find('=') : std::string::npos;
  const std::string name = option_name(word);
  const OptionRow* row = find_option(name, command);
  if (!row) unknown_option(word.substr(0, equals), name, command);
  const std::string flag = "--" + name;
  if (equals != std::string::npos) {
    if (row->value.empty() && !row->is_switch) usage_error("option '" + flag + "' takes no value");
    if (equals + 1 == word.size()) usage_error("option '" + flag + "' needs a value after the '='");
    return word;
  }
  if (i + 1 < arguments.size() && is_switch_value(*row, arguments[i + 1]))
    return flag + "=" + arguments[++i];
  if (!row->words.empty()) return flag + "=" + row->words[1];
  if (row->value.empty()) return flag;
  if (i + 1 < arguments.size() && !arguments[i + 1].empty()) return flag + "=" + arguments[++i];
  usage_error("option '" + flag + "' needs a value: " + flag + " " + row->value);
}

// The options before the first other word (anywhere, for commands that run no program), in the one
// form
// "--name" or "--name=value"; the other words go to `words`.
std::vector<std::string> split(CommandId command, std::span<const std::string> arguments,
                               std::vector<std::string>& words) {
  std::vector<std::string> options;
  const bool runs_program = (bit(command) & kProgramCommands) != 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      words.insert(words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   arguments.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      words.push_back(word);
      if (!runs_program) continue;
      words.insert(words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   arguments.end());
      break;
    }
    options.push_back(read_option(command, arguments, i));
  }
  return options;
}

} // namespace

std::vector<std::string> options_in(CommandId command, std::span<const std::string> words,
                                    const std::string& where) {
  std::vector<std::string> options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || word == "--")
      usage_error("'" + word + "' in " + where + " is no option");
    const std::string name = option_name(word);
    if (find_option(name, command)) {
      options.push_back(read_option(command, words, i));
      continue;
    }
    const auto owner = std::ranges::find_if(
      commands(), [&name](const CommandInfo& other) { return find_option(name, other.id); });
    if (owner == commands().end())
      usage_error("unknown option '" + word + "' in " + where + "; see 'gpumemtrace help options'");
    read_option(owner->id, words, i); // of other commands
  }
  return options;
}

Settings parse_options(CommandId command, std::span<const std::string> arguments) {
  Settings settings;
  settings.command = command;
  const std::vector<std::string> options = split(command, arguments, settings.words);
  po::variables_map values;
  try {
    const po::options_description description = describe(command);
    const int style =
      po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent;
    po::store(po::command_line_parser(options).options(description).style(style).run(), values);
  } catch (const po::error& error) {
    usage_error(error.what());
  }
  settings.help = values.count("help") != 0;
  settings.once = values.count("once") != 0;
  settings.quiet = values.count("quiet") != 0;
  settings.print_suppressions = values.count("print-suppressions") != 0;
  settings.update_baseline = values.count("update-baseline") != 0;
  settings.discard_clean = values.count("discard-clean") != 0 && values.count("keep-trace") == 0;
  settings.remove = values.count("remove") != 0;
  settings.symbols = values.count("no-symbols") == 0;
  settings.sources = values.count("no-source") == 0;
  settings.native_frames = values.count("native-frames") != 0;
  settings.allow_unrun_kernels = values.count("allow-unrun-kernels") != 0;
  const auto all = [&](const std::string& name) {
    return values.count(name) ? values[name].as<std::vector<std::string>>()
                              : std::vector<std::string>();
  };
  settings.suppressions = all("suppressions");
  settings.only = all("only");
  settings.skip = all("skip");
  check_kinds("only", settings.only);
  check_kinds("skip", settings.skip);
  for (const std::string& rule : all("policy")) settings.policies.push_back(parse_policy(rule));
  for (const std::string& file : all("policy-file")) {
    for (PolicyRule& rule : read_policy_file(file)) settings.policies.push_back(std::move(rule));
  }
  const auto last = [&](const std::string& name) -> std::optional<std::string> {
    const std::vector<std::string> given = all(name);
    return given.empty() ? std::nullopt : std::optional(given.back());
  };
  read_values(last, settings);
  read_formats(all("format"), settings);
  read_sanitizer_words(last, settings);
  check_that_kinds_are_left(settings);
  settings.notices =
    idle_options([&](const std::string& name) { return values.count(name) != 0; }, settings);
  if (command == CommandId::kReplay) settings.discard_clean = values.count("keep-trace") == 0;
  const bool needs_program = (bit(command) & kProgramCommands) != 0 && !settings.help;
  if (needs_program && (settings.words.empty() || settings.words[0].empty())) {
    const std::string name = command_name(command);
    usage_error("no program to run; write 'gpumemtrace " + name +
                " [options] ./app'; see 'gpumemtrace help " + name + "'");
  }
  return settings;
}

std::string options_text(CommandId command) {
  std::ostringstream text;
  text << describe(command);
  return text.str();
}

std::string interposer_options_text() {
  std::string text;
  for (const InterposerOption& option : interposer_options()) {
    text += "  --" + option.flag + ", " + option.environment + "\n      " + option.sentence +
            " (default " + option.shown_default + ")\n";
  }
  return text;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1); // Levenshtein, one row at a time
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::size_t replaced = diagonal + (word[i - 1] != candidate[j - 1] ? 1 : 0);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

} // namespace gmt
