// SPDX-License-Identifier: Apache-2.0
// The rows of trace/interposer_options.def as options of the command.
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "analyzer/command/options/option_values.h"

namespace gmt {

namespace {

std::string shown(InterposerOptionType type, std::uint64_t value) {
  if (type == InterposerOptionType::kBool) return value ? "on" : "off";
  if (type == InterposerOptionType::kSize) {
    for (const auto& [shift, suffix] :
         {std::pair{30, "G"}, std::pair{20, "M"}, std::pair{10, "K"}}) {
      if (value != 0 && value % (std::uint64_t{1} << shift) == 0)
        return std::to_string(value >> shift) + suffix;
    }
  }
  return std::to_string(value);
}

std::vector<std::string> words_of(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

std::string as_flag(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// What the help shows where nothing was given.
std::string word_for_none(InterposerOptionType type, std::string_view name) {
  if (type == InterposerOptionType::kList || type == InterposerOptionType::kLaunch ||
      name.starts_with("skip"))
    return "none";
  const bool has_all = type == InterposerOptionType::kKernels ||
                       type == InterposerOptionType::kNumbers ||
                       type == InterposerOptionType::kPrograms;
  return has_all ? "all" : "any";
}

InterposerOption make_text(InterposerOptionType type, const char* name, const char* environment,
                           const std::string& value, const char* sentence) {
  const std::string variable = std::string("GPUMEMTRACE_") + environment;
  return {
    type, as_flag(name), variable, value.empty() ? word_for_none(type, name) : value, sentence, {}};
}

InterposerOption make_option(InterposerOptionType type, const char* name, const char* environment,
                             std::uint64_t value, const char* sentence, const char* words = "") {
  const std::string flag = as_flag(name);
  const std::vector<std::string> choices = words_of(words);
  const std::string shown_value = choices.empty() ? shown(type, value) : choices.at(value);
  return {type, flag, std::string("GPUMEMTRACE_") + environment, shown_value, sentence, choices};
}

} // namespace

std::span<const InterposerOption> interposer_options() {
  using enum InterposerOptionType;
  static const std::vector<InterposerOption> options = {
#define GMT_TYPE_UINT kUint
#define GMT_TYPE_SIZE kSize
#define GMT_TYPE_BOOL kBool
#define GMT_OPTION(type, name, environment, value, sentence)                                       \
  make_option(GMT_TYPE_##type, #name, #environment, value, sentence),
#define GMT_TYPE_LAUNCHES kLaunches
#define GMT_TYPE_PATTERN kPattern
#define GMT_TYPE_NAME kName
#define GMT_TYPE_LIST kList
#define GMT_TYPE_KERNELS kKernels
#define GMT_TYPE_LAUNCH kLaunch
#define GMT_TYPE_NUMBERS kNumbers
#define GMT_TYPE_PROGRAMS kPrograms
#define GMT_TEXT(name, environment, value, form, sentence)                                         \
  make_text(GMT_TYPE_##form, #name, #environment, value, sentence),
#define GMT_CHOICE(name, environment, value, words, sentence)                                      \
  make_option(kChoice, #name, #environment, value, sentence, words),
#include "trace/interposer_options.def"
#undef GMT_TYPE_UINT
#undef GMT_TYPE_SIZE
#undef GMT_TYPE_BOOL
#undef GMT_TYPE_LAUNCHES
#undef GMT_TYPE_PATTERN
#undef GMT_TYPE_NAME
#undef GMT_TYPE_LIST
#undef GMT_TYPE_KERNELS
#undef GMT_TYPE_LAUNCH
#undef GMT_TYPE_NUMBERS
#undef GMT_TYPE_PROGRAMS
  };
  return options;
}

} // namespace gmt
