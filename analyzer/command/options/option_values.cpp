// SPDX-License-Identifier: Apache-2.0
// Every wrong value is a UserError of status 2 that lists the right ones.
#include "analyzer/command/options/option_values.h"

#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/options/device_options.h"
#include "analyzer/command/options/option_table.h"
#include "analyzer/command/options/wrong_value.h"
#include "ptx/names/kernel_choice.h"
#include "ptx/names/launch_choice.h"
#include "trace/option_value.h"

namespace gmt {

namespace {

using Last = std::function<std::optional<std::string>(const std::string&)>;

std::uint64_t number(const std::string& name, const std::string& text, std::uint64_t least,
                     std::uint64_t most) {
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value || *value < least || *value > most) {
    const std::string range =
      most > std::numeric_limits<std::uint32_t>::max()
        ? "a number"
        : "a number from " + std::to_string(least) + " to " + std::to_string(most);
    wrong_value(name, text, range);
  }
  return *value;
}

std::uint64_t size(const std::string& name, const std::string& text) {
  const std::optional<std::uint64_t> value = parse_size(text);
  if (!value) wrong_value(name, text, "a size such as 4096, 512K, 64M or 2G");
  return *value;
}

template <class Choice, std::size_t N>
Choice choice(const std::string& name, const std::string& text,
              const std::pair<const char*, Choice> (&known)[N]) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : known) {
    if (text == word) return meaning;
    words.emplace_back(word);
  }
  wrong_value(name, text, any_of(words));
}

std::uint64_t choice_number(const InterposerOption& option, const std::string& name,
                            const std::string& text) {
  std::string words;
  for (const std::string& word : option.choices) words += (words.empty() ? "" : " ") + word;
  std::uint64_t value = 0;
  if (!trace::read_choice(text, words, value)) wrong_value(name, text, any_of(option.choices));
  return value;
}

std::uint64_t switch_value(const std::string& name, const std::string& text) {
  std::uint64_t value = 0;
  if (!trace::read_bool(text, value)) wrong_value(name, text, "0 or 1, off or on");
  return value;
}

std::string pattern(const std::string& name, const std::string& text) {
  regex_t compiled;
  const int error = ::regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) {
    ::regfree(&compiled);
    return text;
  }
  char reason[128];
  ::regerror(error, &compiled, reason, sizeof reason);
  wrong_value(name, text, std::string("a POSIX extended regular expression (") + reason + ")");
}

std::string kernel_names(const std::string& name, const std::string& text) {
  try {
    if (!ptx::KernelChoice(text, "").is_all()) return text;
  } catch (const std::invalid_argument& error) {
    wrong_value(name, text,
                std::string("names of kernels, or expressions that are right: ") + error.what());
  }
  wrong_value(name, text, "names of kernels, separated by commas");
}

// "NAME" or "NAME:N"; names have colons themselves.
std::string one_launch(const std::string& name, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool is_numbered = colon != std::string::npos && colon != 0 && text[colon - 1] != ':';
  const std::string number = is_numbered ? text.substr(colon + 1) : "1";
  const bool is_count = number.find_first_not_of("0123456789") == std::string::npos;
  const std::optional<std::uint64_t> count = parse_number<std::uint64_t>(number);
  if (is_numbered && is_count && (!count || *count == 0))
    wrong_value(name, text, "a kernel and the number of its launch, from 1 on: scale:3");
  kernel_names(name, is_numbered && is_count ? text.substr(0, colon) : text);
  return text;
}

std::string launch_numbers(const std::string& name, const std::string& text) {
  if (text.empty()) wrong_value(name, text, ptx::LaunchChoice::kAllowed);
  try {
    const ptx::LaunchChoice readable(text);
  } catch (const std::invalid_argument& error) {
    wrong_value(name, text, error.what());
  }
  return text;
}

std::string program_names(const std::string& name, const std::string& text) {
  if (text.empty() || text.find('/') != std::string::npos)
    wrong_value(name, text, "names of programs without their folders, separated by commas");
  return text;
}

std::string launches(const std::string& name, const std::string& text) {
  if (text == "auto" || text == "all") return text;
  const std::optional<std::uint64_t> count = parse_number<std::uint64_t>(text);
  if (!count || *count == 0) wrong_value(name, text, "auto, all or a number from 1 on");
  return text;
}

// A thread's log takes 64 KiB at once, and an eighth of the limit is kept for allocations and
// releases.
std::string trace_limit(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  const std::uint64_t limit = size(name, text);
  if (limit < kLeast)
    wrong_value(name, text, "a size of 1M or more, as little as holds a few threads' logs");
  return std::to_string(limit);
}

// The interposer would take the nearest size that it can make, and the reader believe in another.
std::string ring_size(const std::string& name, const std::string& text) {
  constexpr std::uint64_t kLeast = std::uint64_t{256} << 10, kMost = std::uint64_t{1} << 30;
  const std::uint64_t bytes = size(name, text);
  if (bytes < kLeast || bytes > kMost) wrong_value(name, text, "a size from 256K to 1G");
  return std::to_string(bytes);
}

// What goes into the environment. `name` is what the user wrote: the option, or its variable.
std::string interposer_value(const InterposerOption& option, const std::string& name,
                             const std::string& text) {
  constexpr std::size_t kMostBytes = 255; // trace/interposer_options.def
  if (text.size() > kMostBytes) wrong_value(name, text, "at most 255 bytes");
  switch (option.type) {
  case InterposerOptionType::kUint: {
    const bool is_depth = option.flag == "stack-depth";
    const std::uint64_t most = is_depth ? 128 : std::numeric_limits<std::uint32_t>::max();
    return std::to_string(number(name, text, 0, most));
  }
  case InterposerOptionType::kSize:
    if (option.flag == "max-trace") return trace_limit(name, text);
    if (option.flag == "device-ring-size") return ring_size(name, text);
    return std::to_string(size(name, text));
  case InterposerOptionType::kBool: return std::to_string(switch_value(name, text));
  case InterposerOptionType::kChoice: return std::to_string(choice_number(option, name, text));
  case InterposerOptionType::kLaunches: return launches(name, text);
  case InterposerOptionType::kPattern: return pattern(name, text);
  case InterposerOptionType::kKernels: return kernel_names(name, text);
  case InterposerOptionType::kLaunch: return one_launch(name, text);
  case InterposerOptionType::kNumbers: return launch_numbers(name, text);
  case InterposerOptionType::kPrograms: return program_names(name, text);
  case InterposerOptionType::kName:
  case InterposerOptionType::kList: return text;
  }
  return {};
}

// Options, and where one is not given its variable, which a program would read without a word.
void read_interposer_values(const Last& last, Settings& settings) {
  for (const InterposerOption& option : interposer_options()) {
    if (const auto v = last(option.flag)) {
      settings.interposer.emplace_back(option.environment,
                                       interposer_value(option, option.flag, *v));
    } else if (const char* set = std::getenv(option.environment.c_str()); set && *set != '\0') {
      settings.interposer.emplace_back(option.environment,
                                       interposer_value(option, option.environment, set));
    }
  }
}

// A program may have been built elsewhere: only an absolute path may name a folder that is not
// here.
std::string source_folder(const std::string& text) {
  std::error_code error;
  const std::filesystem::path folder = text;
  const bool is_here = std::filesystem::exists(folder, error);
  if (std::filesystem::is_directory(folder, error) || (!is_here && folder.is_absolute()))
    return text;
  wrong_value("source-root", text,
              is_here ? "a folder" : "a folder, and there is none of this name");
}

std::optional<double> time_value(const std::string& name, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<double> value = parse_time(*text);
  if (!value) wrong_value(name, *text, "a time such as 1.5s, 200ms, 12us or 7ns");
  return value;
}

void read_span(const Last& last, Settings& s) {
  s.span = {time_value("from", last("from")), time_value("to", last("to"))};
  if (s.span.from && s.span.to && *s.span.from >= *s.span.to)
    wrong_value("to", *last("to"), "a time behind that of '--from'");
}

void read_report_values(const Last& last, Settings& s) {
  if (const auto v = last("baseline")) s.baseline = *v;
  if (const auto v = last("baseline-tolerance")) {
    const std::optional<std::uint64_t> percent = parse_percent(*v);
    if (!percent) wrong_value("baseline-tolerance", *v, "a whole number of percent, such as 10%");
    s.baseline_tolerance = *percent;
  }
  if (const auto v = last("source-root")) s.source_root = source_folder(*v);
  if (const auto v = last("fail-on")) {
    s.fail_on = choice<Severity>(
      "fail-on", *v,
      {{"note", Severity::kNote}, {"warning", Severity::kWarning}, {"error", Severity::kError}});
  }
  if (const auto v = last("color")) {
    s.color = choice<ColorChoice>("color", *v,
                                  {{"auto", ColorChoice::kAuto},
                                   {"always", ColorChoice::kAlways},
                                   {"never", ColorChoice::kNever}});
  }
  if (const auto v = last("group-by"))
    s.group_by_range = choice<bool>("group-by", *v, {{"stack", false}, {"range", true}});
  if (const auto v = last("tables")) {
    s.tables = choice<TableChoice>(
      "tables", *v,
      {{"auto", TableChoice::kAuto}, {"all", TableChoice::kAll}, {"none", TableChoice::kNone}});
  }
  if (const auto v = last("output")) s.output = *v;
  if (const auto v = last("error-exitcode"))
    s.error_exitcode = static_cast<int>(number("error-exitcode", *v, 1, 255));
  if (const auto v = last("min-bytes")) s.min_bytes = size("min-bytes", *v);
  if (const auto v = last("coalescing-floor")) s.coalescing_floor = size("coalescing-floor", *v);
  read_span(last, s);
  if (const auto v = last("perfetto-size")) s.perfetto_size = size("perfetto-size", *v);
  if (const auto v = last("limit"))
    s.limit = number("limit", *v, 0, std::numeric_limits<std::size_t>::max());
  if (const auto v = last("stack-depth"))
    s.stack_depth = static_cast<unsigned>(number("stack-depth", *v, 0, 128));
}

} // namespace

void read_values(const Last& last, Settings& settings) {
  read_report_values(last, settings);
  if (const auto v = last("device")) {
    settings.device = choice<DeviceChoice>("device", *v,
                                           {{"auto", DeviceChoice::kAuto},
                                            {"real", DeviceChoice::kReal},
                                            {"simulated", DeviceChoice::kSimulated}});
  }
  if (settings.command == CommandId::kReplay) settings.device = DeviceChoice::kSimulated;
  settings.simulated = device_settings(last);
  if (!settings.simulated.empty() && settings.device != DeviceChoice::kSimulated) {
    throw UserError("options for kernels that run on the processor go with '--device simulated'",
                    ExitStatus::kUsage);
  }
  if (settings.device == DeviceChoice::kSimulated)
    std::ranges::move(device_variables(settings.simulated), std::back_inserter(settings.simulated));
  if (const auto v = last("trace-dir")) settings.trace_dir = *v;
  if (const auto v = last("block")) settings.block = *v;
  if (const auto v = last("older-than")) settings.min_days = number("older-than", *v, 0, 36500);
  // The --stack-depth of others is about showing, not keeping.
  if ((bit(settings.command) & kProgramCommands) == 0) return;
  read_interposer_values(last, settings);
}

void read_sanitizer_words(const Last& last, Settings& settings) {
  if (const auto v = last("tool")) {
    choice<int>("tool", *v,
                {{"memcheck", 0}, {"racecheck", 1}, {"initcheck", 2}, {"synccheck", 3}});
  }
  if (const auto v = last("leak-check")) {
    if (!choice<bool>("leak-check", *v, {{"full", true}, {"no", false}}))
      settings.skip.emplace_back("leak");
  }
  if (const auto v = last("log-file")) settings.format_files.push_back({"sanitizer", *v});
}

bool use_color(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color && *no_color) return false;
  if (const char* forced = std::getenv("FORCE_COLOR"); forced && *forced)
    return std::string_view(forced) != "0";
  if (terminal && std::string_view(terminal) == "dumb") return false;
  return ::isatty(descriptor) != 0;
}

} // namespace gmt
