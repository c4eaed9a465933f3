// SPDX-License-Identifier: Apache-2.0
// `help`: everything here is printed from the registries (commands, detectors, formats, options)
// and from docs/findings/, so that it cannot fall behind them. Goes to stdout with status 0.

#include <unistd.h>

#include <algorithm>

#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/findings_text.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/report/output_format.h"

namespace gmt {

namespace {

void print(const std::string& text) { write_output(STDOUT_FILENO, "standard output", text); }

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  result.resize(std::max(width, result.size() + 1), ' ');
  return result;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
  case Severity::kNote: return "note";
  case Severity::kWarning: return "warning";
  case Severity::kError: return "error";
  }
  return "?";
}

std::string overview() {
  std::string text =
    "gpumemtrace runs a CUDA program, unchanged, and says what is wrong with its memory.\n\n"
    "  gpumemtrace ./app\n  gpumemtrace check ./app              in CI: fails when an error is found\n"
    "  gpumemtrace --device simulated ./app  on a machine with no GPU\n\nCommands\n";
  for (const CommandInfo& command : commands())
    text += "  " + padded(command.name, 8) + std::string(command.summary) + "\n";
  text +=
    "\nA first word that is no command is the program to run. Options end at the program's name;\n"
    "what follows is the program's own.\n\n"
    "  gpumemtrace help check       a command, with examples and options\n"
    "  gpumemtrace help findings    what can be found\n"
    "  gpumemtrace help options     all options, environment variables and report formats\n";
  return text;
}

std::string help_of(const CommandInfo& command) {
  std::string text = "gpumemtrace " + std::string(command.name) + ": " +
                     std::string(command.summary) + "\n\n  gpumemtrace " +
                     std::string(command.usage) + "\n\nExamples\n" + std::string(command.examples);
  if (command.id == CommandId::kNvcc) return text; // the compiler's options
  return text + "\nOptions\n" + options_text(command.id);
}

std::string help_findings() {
  std::string text;
  std::size_t width = 0;
  for (const DetectorInfo* detector : detectors()) width = std::max(width, detector->id.size());
  for (const DetectorInfo* detector : detectors()) {
    text += padded(detector->id, width + 2) + padded(severity_name(detector->severity), 9) +
            std::string(detector->title) + "\n";
  }
  if (text.empty()) return "this build has no detectors\n";
  return text + "\n'gpumemtrace help FINDING' explains one.\n";
}

std::string help_finding(const DetectorInfo& detector) {
  std::string text = std::string(detector.id) + "\n\n";
  const std::string section = finding_section(detector.id);
  text += section.empty() ? std::string(detector.title) + "\n" : section;
  const std::string id(detector.id);
  return text +
         "\nTo leave some of them out: --suppressions FILE, which has lines such as\n"
         "  " +
         id +
         ":GLOB\n"
         "    GLOB ('*' any characters, '?' one) covers a whole function name, with or without\n"
         "    parameters, or a source or object file, of any frame of the finding's call stacks\n"
         "  " +
         id +
         ":INNER < CALLER < ITS_CALLER\n"
         "    each a GLOB: the first function that is the program's own, then its callers\n"
         "--print-suppressions writes such lines, see docs/suppressions.md.\n";
}

std::string help_options() {
  std::string text =
    "Options of run, check and record that reach the program's process (flag, and variable of the\n"
    "environment, which takes the same values)\n" +
    interposer_options_text();
  for (const std::string_view name : {"check", "report", "diff"})
    text += "\nOptions of " + std::string(name) + "\n" + options_text(find_command(name)->id);
  text += "\nReport formats (--format)\n";
  for (const OutputInfo* output : outputs())
    text += "  " + padded(output->id, 11) + std::string(output->title) + "\n";
  return text +
         "\nEnvironment\n"
         "  GPUMEMTRACE_OPTIONS  options of run, check, record, report and diff; those of the command line\n"
         "                       come behind them, and those of gpumemtrace.toml before\n"
         "  NO_COLOR             no colours unless --color always\n"
         "  FORCE_COLOR          colours in pipes and files, too, unless NO_COLOR or --color is given\n"
         "  COLUMNS              columns of the text report on a terminal or in a pipe (40 to 200)\n"
         "  FORCE_HYPERLINK      1: names of files are links (OSC 8) where there are colours; 0: they\n"
         "                       are not\n"
         "  TMPDIR               where traces go if the current directory is not writable\n"
         "  GPUMEMTRACE_LIBDIR   the folder that holds libgpumemtrace.so, if it was moved\n"
         "  GPUMEMTRACE_SIM_*    the simulated device's size and properties\n"
         "\nExit status\n"
         "  run, record   the program's own, also its signal; 125 the tool could not start it, 126 not\n"
         "                executable, 127 not found; 24 the simulated device ended it (--run-time)\n"
         "  check         the program's own if not 0; else 23 (--error-exitcode) if a finding at or above\n"
         "                --fail-on stands, nothing was checked, a part of the trace is missing, or the\n"
         "                simulated device could not run a launch (--allow-unrun-kernels); else 0\n"
         "  report        0 the run passed; 1 it failed: a finding at or above --fail-on stands, the program\n"
         "                crashed or ended with another status than 0, no CUDA call was seen, or the simulated\n"
         "                device could not run a launch (--allow-unrun-kernels); 3 no or unreadable trace, or\n"
         "                one of which a part is missing\n"
         "  diff          0 nothing is worse, 1 a finding at or above --fail-on is new or has grown, or\n"
         "                memory has, or the run after failed as the one before did not; 3 no or\n"
         "                unreadable trace\n"
         "  last          as report\n"
         "  dump, pack    0, 3 no or unreadable trace\n"
         "  replay        0 as the GPU, 1 not; 23 (--error-exitcode) as check; 3 no or unreadable capture\n"
         "  clean         0, with --remove 1 where a trace stays\n"
         "  all           2 wrong usage, before anything is started; 4 the report could not be written, or\n"
         "                the tool failed, where the program's own status was 0\n";
}

} // namespace

void print_help_of(const CommandInfo& command) { print(help_of(command)); }

int command_help(const Settings& settings) {
  if (settings.words.empty()) {
    print(overview());
    return 0;
  }
  const std::string& topic = settings.words[0];
  if (settings.words.size() > 1) {
    throw UserError("help takes one word, and '" + settings.words[1] +
                      "' is one more; write 'gpumemtrace help " + topic + "'",
                    ExitStatus::kUsage);
  }
  std::vector<std::string> topics = {"findings", "options"};
  for (const CommandInfo& command : commands()) {
    if (command.name == topic) {
      print(help_of(command));
      return 0;
    }
    topics.emplace_back(command.name);
  }
  for (const DetectorInfo* detector : detectors()) {
    if (detector->id == topic) {
      print(help_finding(*detector));
      return 0;
    }
    topics.emplace_back(detector->id);
  }
  if (topic == "findings" || topic == "options") {
    print(topic == "findings" ? help_findings() : help_options());
    return 0;
  }
  const std::string near = nearest(topic, topics);
  throw UserError(
    "no help on '" + topic + "'; " +
      (near.empty() ? "see 'gpumemtrace help'" : "did you mean 'gpumemtrace help " + near + "'?"),
    ExitStatus::kUsage);
}

} // namespace gmt
