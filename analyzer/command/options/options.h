// SPDX-License-Identifier: Apache-2.0
// The command line of every subcommand, parsed: which options each takes, where they end, and their
// values. The program's own words are never looked at: options end at the first word that is none.
// A wrong option, value or count of words is a UserError of status 2 that says what to write
// instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analysis/time_window.h"
#include "analyzer/base/quantities.h"
#include "analyzer/detectors/policy.h"
#include "analyzer/model/finding.h"
#include "analyzer/report/output_format.h"

namespace gmt {

// Bits, so that one option can belong to several commands.
enum class CommandId : unsigned {
  kRun = 1,
  kCheck = 2,
  kRecord = 4,
  kReport = 8,
  kDump = 16,
  kHelp = 32,
  kNvcc = 64,
  kDiff = 128,
  kTop = 256,
  kFollow = 512,
  kClean = 1024,
  kLast = 2048,
  kCache = 4096,
  kPack = 8192,
  kAttach = 16384,
  kReplay = 32768
};

enum class DeviceChoice : std::uint8_t { kAuto, kReal, kSimulated };
enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };

// --format FORMAT=FILE
struct FormatFile {
  std::string format, path;
};

struct Settings {
  CommandId command = CommandId::kRun;
  bool help = false;
  std::vector<std::string> notices; // sentences about options that do nothing here

  std::string format = "text"; // an id of outputs()
  std::vector<FormatFile> format_files;
  bool quiet = false;      // no word on a report that is in a file
  bool files_only = false; // no report but those of format_files
  std::string source_root;
  std::string output; // empty: stderr after a program, stdout for report
  Severity fail_on = Severity::kError;
  int error_exitcode = 23;
  std::uint64_t min_bytes = 0;
  std::size_t limit = 0; // 0 is all
  std::vector<std::string> suppressions;
  std::vector<std::string> only, skip; // kinds of findings, globs
  bool print_suppressions = false;
  bool once = false; // top: one picture
  bool group_by_range = false;
  std::vector<PolicyRule> policies;
  std::string baseline; // a file; empty: none
  bool update_baseline = false;
  std::uint64_t baseline_tolerance = 0;          // percent
  std::optional<std::uint64_t> coalescing_floor; // bytes
  bool symbols = true;
  bool sources = true;
  bool native_frames = false;
  std::optional<unsigned> stack_depth;
  TableChoice tables = TableChoice::kAuto;
  TimeSpan span;                             // --from, --to
  std::uint64_t perfetto_size = 200'000'000; // bytes
  ColorChoice color = ColorChoice::kAuto;

  DeviceChoice device = DeviceChoice::kAuto;
  bool allow_unrun_kernels = false;
  // For the simulated device: names in the environment, values.
  std::vector<std::pair<std::string, std::string>> simulated;
  std::string trace_dir;
  std::string block;          // replay: the block that runs alone, as it is written; empty: all
  bool discard_clean = false; // traces of a run in which nothing was found
  bool remove = false;        // clean: not only list
  std::optional<std::uint64_t> min_days; // clean: only traces of that age
  // The interposer's options that were given: full name in the environment, plain value.
  std::vector<std::pair<std::string, std::string>> interposer;

  std::vector<std::string> words; // the program and its arguments, or the traces, or help's topic
};

// The options among the words that the command has, as "--name" or "--name=value"; those of other
// commands are left out. `where` names the words in errors.
std::vector<std::string> options_in(CommandId command, std::span<const std::string> words,
                                    const std::string& where);
Settings parse_options(CommandId command, std::span<const std::string> arguments);
std::string options_text(CommandId command); // as help prints them
std::string interposer_options_text();       // with their names in the environment

// The candidate nearest to a word by edit distance, empty if none is near enough to be meant.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Whether to colour what goes to this descriptor (NO_COLOR, FORCE_COLOR and TERM=dumb count under
// `auto`).
bool use_color(ColorChoice choice, int descriptor);

} // namespace gmt
