// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/options/idle_options.h"

#include <algorithm>
#include <string_view>

#include "analyzer/command/options/option_table.h"

namespace gmt {

namespace {

// Which kernels are checked, where kernels are.
constexpr std::string_view kFilters[] = {"only-kernels", "skip-kernels", "checked-launches",
                                         "launches",     "range",        "processes"};

struct Partner {
  std::string_view option;
  unsigned commands;                   // for which it needs one of the others
  std::vector<std::string_view> needs; // options of the interposer, or formats
  bool are_formats = false;
};

const std::vector<Partner>& partners() {
  constexpr unsigned kPrograms = kProgramCommands;
  constexpr unsigned kChecks = bit(CommandId::kRun) | bit(CommandId::kCheck);
  constexpr unsigned kReports = kChecks | bit(CommandId::kReport);
  static const std::vector<Partner> all = {
    {"kernel", kPrograms, {"coalescing", "counters"}},
    {"coalescing-launches", kPrograms, {"coalescing", "counters"}},
    {"coalescing-range", kPrograms, {"coalescing", "counters"}},
    {"coalescing-floor", kChecks, {"coalescing", "counters"}},
    {"keep-core-dump", kPrograms, {"core-dump", "guard"}},
    {"capture-limit", kPrograms, {"capture"}},
    {"capture-wait", kPrograms, {"capture"}},
    {"guard-align", kPrograms, {"guard"}},
    {"guard-check", kPrograms, {"guard"}},
    {"guard-min", kPrograms, {"guard"}},
    {"guard-limit", kPrograms, {"guard"}},
    {"guard-sample", kPrograms, {"guard"}},
    {"guard-exclude", kPrograms, {"guard"}},
    {"from", kReports, {"html", "perfetto", "pftrace", "sqlite"}, true},
    {"to", kReports, {"html", "perfetto", "pftrace", "sqlite"}, true},
    {"perfetto-size", kReports, {"perfetto", "pftrace"}, true},
    {"source-root",
     kReports,
     {"sarif", "gitlab", "junit", "markdown", "github", "sanitizer"},
     true},
  };
  return all;
}

// "GPUMEMTRACE_CORE_DUMP" of "core-dump"
std::string variable_of(std::string_view option) {
  std::string name = "GPUMEMTRACE_";
  for (const char c : option)
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

bool is_on(std::string_view option, const Settings& settings) {
  return std::ranges::any_of(settings.interposer,
                             [variable = variable_of(option)](const auto& one) {
                               return one.first == variable && one.second != "0";
                             });
}

bool is_written(std::string_view format, const Settings& settings) {
  return settings.format == format ||
         std::ranges::any_of(settings.format_files,
                             [format](const FormatFile& file) { return file.format == format; });
}

} // namespace

std::vector<std::string> idle_options(const std::function<bool(const std::string&)>& given,
                                      const Settings& settings) {
  std::vector<std::string> notices;
  const auto add = [&notices](std::string_view option, const std::string& needs) {
    notices.push_back("'--" + std::string(option) + "' does nothing without " + needs);
  };
  for (const Partner& partner : partners()) {
    if (!(partner.commands & bit(settings.command)) || !given(std::string(partner.option)))
      continue;
    std::string words;
    bool has_one = false;
    for (const std::string_view needed : partner.needs) {
      has_one =
        has_one || (partner.are_formats ? is_written(needed, settings) : is_on(needed, settings));
      words += std::string(words.empty() ? "" : " or ") + "'--" +
               (partner.are_formats ? "format " : "") + std::string(needed) + "'";
    }
    if (!has_one) add(partner.option, words);
  }
  const bool compiles_checks =
    is_on("kernel-checks", settings) || is_on("kernel-checks-sample", settings);
  const bool checks_kernels = settings.device == DeviceChoice::kSimulated || compiles_checks;
  for (const std::string_view filter : kFilters)
    if (!checks_kernels && given(std::string(filter)))
      add(filter, "'--kernel-checks' or '--device simulated'");
  if (given("quiet") && settings.output.empty() && !compiles_checks)
    add("quiet", "'--output' or '--kernel-checks'");
  if (settings.command != CommandId::kDiff && given("baseline-tolerance") &&
      settings.baseline.empty())
    add("baseline-tolerance", "'--baseline'");
  return notices;
}

} // namespace gmt
