// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/options/option_table.h"

#include "analyzer/command/options/device_options.h"
#include "analyzer/command/options/option_values.h"

namespace gmt {

namespace {

constexpr unsigned kReports =
  bit(CommandId::kRun) | bit(CommandId::kCheck) | bit(CommandId::kReport) | bit(CommandId::kReplay);
constexpr unsigned kDevices = kProgramCommands | bit(CommandId::kReplay);
constexpr unsigned kAll = kProgramCommands | kReports | bit(CommandId::kDiff) |
                          bit(CommandId::kTop) | bit(CommandId::kFollow) | bit(CommandId::kDump) |
                          bit(CommandId::kClean) | bit(CommandId::kLast) | bit(CommandId::kCache) |
                          bit(CommandId::kPack) | bit(CommandId::kAttach) | bit(CommandId::kHelp);

const char* option_placeholder(InterposerOptionType type) {
  switch (type) {
  case InterposerOptionType::kSize: return "SIZE";
  case InterposerOptionType::kChoice:
  case InterposerOptionType::kLaunches: return "WHAT";
  case InterposerOptionType::kPattern: return "REGEX";
  case InterposerOptionType::kName: return "NAME";
  case InterposerOptionType::kNumbers: return "A..B";
  case InterposerOptionType::kPrograms:
  case InterposerOptionType::kKernels:
  case InterposerOptionType::kList: return "NAMES";
  case InterposerOptionType::kLaunch: return "KERNEL[:N]";
  default: return "N";
  }
}

// The command's own options.
std::vector<OptionRow> own_rows() {
  const unsigned verdicts = bit(CommandId::kCheck) | bit(CommandId::kReport) |
                            bit(CommandId::kDiff) | bit(CommandId::kReplay);
  const unsigned compared = kReports | bit(CommandId::kDiff);
  return {
    {"format", "FORMAT[=FILE]", kReports,
     "form of the report: " + format_list() +
       " (default text); with =FILE one more report, in that file; may be repeated"},
    {"format", "FORMAT[=FILE]", bit(CommandId::kDiff),
     "form of the comparison: text or html (default text); with =FILE one more, in that file; may be "
     "repeated"},
    {"format", "FORMAT", bit(CommandId::kTop), "text, json or prometheus (default text)"},
    {"format", "FORMAT", bit(CommandId::kDump),
     "text, or jsonl: a line of JSON for each event and, before its first use, for each call stack "
     "(default text)"},
    {"once", "", bit(CommandId::kTop), "print one picture and end"},
    {"output", "FILE", kReports,
     "write the report to a file; where no --format is given, the end of its name says the form: .html, "
     ".json, .sarif, .md, .xml (junit), .pftrace, .sqlite or .db",
     "o"},
    {"output", "FILE", bit(CommandId::kDiff) | bit(CommandId::kTop),
     "write the report to a file; where no --format is given, the end of its name says the form",
     "o"},
    {"output", "FILE", bit(CommandId::kPack),
     "the file (default: the first trace's name and .tar.zst, in the current directory)", "o"},
    {"quiet", "", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "with --output: do not say on stderr where the report is and how much was found, unless a "
     "signal killed the program; with --kernel-checks: nor that kernels are being compiled"},
    {"fail-on", "SEVERITY", verdicts,
     "the least severity that fails: note, warning or error (default error)"},
    {"error-exitcode", "N", bit(CommandId::kCheck) | bit(CommandId::kReplay),
     "exit status when a finding fails the check (default 23)"},
    {"min-bytes", "SIZE", kReports,
     "leave out leaks, warnings, notes of fewer bytes, and say how many; errors stay"},
    {"limit", "N", kReports,
     "show at most this many findings; the rest are counted (default 0: all)"},
    {"only", "KIND", kReports,
     "report only this kind of finding ('*' stands for anything); may be repeated"},
    {"skip", "KIND", kReports, "leave out this kind of finding; may be repeated"},
    {"group-by", "WHAT", kReports,
     "stack: equal call stacks are one finding (default); range: only within equal NVTX ranges"},
    {"policy", "RULE", kReports,
     "a rule that the program must keep, as in --policy 'max-device-bytes 2G' (see 'gpumemtrace help "
     "policy'); may be repeated"},
    {"policy-file", "FILE", kReports, "a file of such rules, one a line; may be repeated"},
    {"baseline", "FILE", kReports,
     "findings that are accepted: only what is not in the file, or has grown, is shown and fails"},
    {"baseline-tolerance", "PERCENT", compared,
     "how much count and bytes of a finding may grow against the baseline, or the run before (default 0%)"},
    {"update-baseline", "", kReports,
     "write the findings of this run into the baseline; then no finding fails the check"},
    {"coalescing-floor", "SIZE", kReports,
     "with --coalescing: leave out accesses of which all launches waste less (default 1M)"},
    {"suppressions", "FILE", kReports | bit(CommandId::kFollow),
     "a file of suppression rules; may be given several times"},
    {"print-suppressions", "", kReports,
     "print a suppression rule for each finding, ready to paste"},
    {"tables", "WHICH", kReports,
     "who used how much memory, in the text report: auto (what says more than the totals), all or none "
     "(default auto)"},
    {"from", "TIME", bit(CommandId::kReport),
     "show the details of html, perfetto and sqlite from this time of the run on, such as 1.5s or 200ms"},
    {"to", "TIME", bit(CommandId::kReport), "the same, up to this time"},
    {"perfetto-size", "SIZE", kReports,
     "the most bytes of a perfetto report; the shortest calls are left out first (default 200 million)"},
    {"source-root", "DIR", kReports,
     "folder of the sources, to which sarif, gitlab, github, junit and markdown name files (default: the top of "
     "the git repository here, else the folder of main)"},
    {"no-symbols", "", compared, "show modules and offsets instead of functions and lines"},
    {"no-source", "", compared | bit(CommandId::kRecord),
     "read no lines of source files: none in the trace and in reports, and findings are known by their "
     "functions alone"},
    {"native-frames", "", kReports,
     "show the frames of Python's interpreter, too, beside Python's own"},
    {"color", "WHEN", kReports,
     "auto, always or never (default auto: on a terminal or with FORCE_COLOR, unless NO_COLOR is set)"},
    {"stack-depth", "N", bit(CommandId::kReport),
     "frames shown of each call stack (default 0: all)"},
    {"device", "DEVICE", kProgramCommands,
     "auto: check only where there is a driver; real: in any case; simulated: no GPU needed, kernels "
     "run on the processor (default auto)"},
    {"allow-unrun-kernels", "", kReports,
     "--device simulated: launches that the device cannot run to their end do not fail the check"},
    {"require-kernels", "", bit(CommandId::kCheck), "changes nothing: check does so by itself"},
    {"trace-dir", "DIR", kDevices, "where traces are made (default: the current directory)"},
    {"discard-clean", "", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "remove the traces of a run that ended with status 0 and in which nothing at or above --fail-on "
     "(run: no error) was found"},
    {"block", "X[,Y,Z]", bit(CommandId::kReplay),
     "run this block of the grid alone, with its cluster"},
    {"keep-trace", "", bit(CommandId::kReplay), "remove no trace"},
    {"keep-trace", "", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "remove no trace; from version 0.3 on 'check' without --trace-dir discards those of clean runs"},
    {"log-file", "FILE", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "as --format sanitizer=FILE: what CTest gives its MEMORYCHECK_COMMAND"},
    {"tool", "NAME", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "changes nothing: memcheck, racecheck, initcheck or synccheck of CTest's MEMORYCHECK_COMMAND"},
    {"leak-check", "WHAT", bit(CommandId::kRun) | bit(CommandId::kCheck),
     "no: as --skip leak; full: changes nothing"},
    {"remove", "", bit(CommandId::kClean) | bit(CommandId::kCache),
     "remove the traces or the files of the cache that are listed; without it they stay"},
    {"older-than", "DAYS", bit(CommandId::kClean),
     "only traces to which nothing was written for so long"},
    {"help", "", kAll, "explain the command and its options", "h"},
  };
}

std::vector<OptionRow> make_rows() {
  std::vector<OptionRow> rows = own_rows();
  for (const DeviceOption& option : device_options())
    rows.push_back({option.name, option.value, kDevices, option.sentence});
  for (const InterposerOption& option : interposer_options()) {
    const bool is_switch = option.type == InterposerOptionType::kBool;
    const std::string value = is_switch ? "" : option_placeholder(option.type);
    const std::string sentence = option.sentence + " (default " + option.shown_default + ")";
    // A choice that may be off is a switch with more words: alone it means the one behind "off".
    const bool has_off = option.choices.size() > 1 && option.choices[0] == "off";
    const std::vector<std::string> words = has_off ? option.choices : std::vector<std::string>();
    // A report on what was not recorded says nothing.
    const unsigned commands = option.flag == "idle" ? bit(CommandId::kRecord) : kProgramCommands;
    rows.push_back({option.flag, value, commands, sentence, {}, is_switch, words});
  }
  return rows;
}

} // namespace

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> all = make_rows();
  return all;
}

const OptionRow* find_option(std::string_view name, CommandId command) {
  for (const OptionRow& row : option_rows())
    if (row.name == name && (row.commands & bit(command))) return &row;
  return nullptr;
}

} // namespace gmt
