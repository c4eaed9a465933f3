// SPDX-License-Identifier: Apache-2.0
// Reads rules; see policy.h. Part of the command: a wrong rule must be found before the program
// runs.

#include "analyzer/detectors/policy.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/options/options.h"

namespace gmt {

namespace {

using RuleKind = PolicyRule::Kind;

enum class Takes : std::uint8_t { kNothing, kAfterMark, kName, kSize, kCount, kPercent };

struct RuleForm {
  std::string_view word;
  RuleKind kind;
  Takes takes;
  std::string_view written; // how the whole rule is written
};

constexpr RuleForm kForms[] = {
  {"no-direct-malloc", RuleKind::kNoDirectMalloc, Takes::kAfterMark,
   "no-direct-malloc [after MARK]"},
  {"no-alloc-in", RuleKind::kNoAllocIn, Takes::kName, "no-alloc-in RANGE"},
  {"no-alloc-during-capture", RuleKind::kNoAllocDuringCapture, Takes::kNothing,
   "no-alloc-during-capture"},
  {"max-device-bytes", RuleKind::kMaxDeviceBytes, Takes::kSize, "max-device-bytes SIZE"},
  {"max-allocations", RuleKind::kMaxAllocations, Takes::kCount, "max-allocations N"},
  {"max-growth", RuleKind::kMaxGrowth, Takes::kPercent, "max-growth PERCENT"},
  {"max-growth-per-step", RuleKind::kMaxGrowthPerStep, Takes::kSize, "max-growth-per-step SIZE"},
};

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Cuts the first word off.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, end);
  text = trimmed(text.substr(end));
  return word;
}

[[noreturn]] void wrong_rule(std::string_view text, const std::string& why) {
  throw UserError("'" + std::string(text) + "' is no policy: " + why, ExitStatus::kUsage);
}

const RuleForm& form_of(std::string_view text, std::string_view word) {
  std::vector<std::string> words;
  std::string all;
  for (const RuleForm& form : kForms) {
    if (form.word == word) return form;
    words.emplace_back(form.word);
    all += (all.empty() ? "" : ", ") + std::string(form.written);
  }
  const std::string near = nearest(word, words);
  wrong_rule(text, (near.empty() ? "" : "did you mean '" + near + "'? ") + "the rules are " + all);
}

std::uint64_t count(std::string_view text) {
  const auto value = parse_number<std::uint64_t>(text);
  if (!value) wrong_rule(text, "max-allocations takes a number");
  return *value;
}

std::uint64_t size(std::string_view word, std::string_view text) {
  const auto value = parse_size(text);
  if (!value) wrong_rule(text, std::string(word) + " takes a size such as 512M or 2G");
  return *value;
}

std::uint64_t percent(std::string_view text) {
  const auto value = parse_percent(text);
  if (!value) wrong_rule(text, "max-growth takes a whole number of percent, such as 5%");
  return *value;
}

[[noreturn]] void cannot_read(const std::filesystem::path& file, int error) {
  throw UserError("cannot read the policies in '" + file.string() + "': " + std::strerror(error),
                  ExitStatus::kUsage);
}

} // namespace

PolicyRule parse_policy(std::string_view text) {
  std::string_view rest = trimmed(text);
  const RuleForm& form = form_of(text, take_word(rest));
  PolicyRule rule{.kind = form.kind, .text = std::string(form.word)};
  const auto must = [&](bool good) {
    if (!good) wrong_rule(text, "it is written " + std::string(form.written));
  };
  if (!rest.empty()) rule.text += " " + std::string(rest);
  switch (form.takes) {
  case Takes::kNothing: must(rest.empty()); break;
  case Takes::kAfterMark:
    if (rest.empty()) break;
    must(take_word(rest) == "after" && !rest.empty());
    rule.name = rest;
    break;
  case Takes::kName:
    must(!rest.empty());
    rule.name = rest;
    break;
  case Takes::kSize:
    must(!rest.empty());
    rule.limit = size(form.word, rest);
    break;
  case Takes::kCount:
    must(!rest.empty());
    rule.limit = count(rest);
    break;
  case Takes::kPercent:
    must(!rest.empty());
    rule.limit = percent(rest);
    break;
  }
  return rule;
}

std::vector<PolicyRule> read_policy_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file);
  std::error_code ignored;
  if (!stream || std::filesystem::is_directory(file, ignored))
    cannot_read(file, errno != 0 ? errno : EISDIR);
  std::vector<PolicyRule> rules;
  std::string line;
  for (unsigned number = 1; std::getline(stream, line); ++number) {
    const std::string_view rule = trimmed(line);
    if (rule.empty() || rule[0] == '#') continue;
    try {
      rules.push_back(parse_policy(rule));
    } catch (const UserError& error) {
      throw UserError(file.string() + ":" + std::to_string(number) + ": " + error.what(),
                      error.status());
    }
  }
  if (stream.bad()) cannot_read(file, EIO);
  return rules;
}

} // namespace gmt
