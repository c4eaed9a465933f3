// SPDX-License-Identifier: Apache-2.0
// Rendering and verdict; see report_options.h.

#include "analyzer/command/report_options.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/console.h"
#include "analyzer/command/findings_text.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/suppressions.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHistoryColumns = 2048; // more than a screen is wide
constexpr std::size_t kLinesOfFindings = 40;  // of a check whose files have the rest

// More than fits into so many bytes.
TimelineSize timeline_size(std::uint64_t bytes) {
  constexpr std::uint64_t kLeastOfSlice = 90, kLeastOfSample = 70, kMostSlices = 20'000'000;
  TimelineSize size;
  size.slices = std::clamp<std::uint64_t>(bytes / kLeastOfSlice, 1, kMostSlices);
  size.samples = std::clamp<std::uint64_t>(bytes / kLeastOfSample / 16, 16, kMostSlices);
  size.ranges = std::clamp<std::uint64_t>(bytes / kLeastOfSample / 16, 16, kMostSlices);
  return size;
}

// The top of the git repository that this is in; empty if it is in none.
std::string git_top_level() {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty();
       folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", error)) return folder.string();
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::string source_root(const std::string& given) {
  if (given.empty()) return git_top_level();
  std::error_code error;
  const fs::path absolute = fs::absolute(given, error);
  return (error ? fs::path(given) : absolute).lexically_normal().string();
}

// Whether a chosen format needs what is made only for some.
bool any_needs(const Settings& settings, bool OutputInfo::* what) {
  const auto is_chosen = [&settings](std::string_view id) {
    return settings.format == id ||
           std::ranges::any_of(settings.format_files,
                               [id](const FormatFile& file) { return file.format == id; });
  };
  return std::ranges::any_of(
    outputs(), [&](const OutputInfo* output) { return output->*what && is_chosen(output->id); });
}

KindHelp help_of_kind(std::string_view kind) {
  for (const DetectorInfo* detector : detectors()) {
    if (detector->id == kind) return {std::string(detector->title), finding_section(detector->id)};
  }
  return {};
}

OutputOptions output_options(const Settings& settings) {
  OutputOptions options;
  options.limit = settings.limit;
  options.tables = settings.tables;
  options.fail_on = settings.fail_on;
  options.perfetto_size = settings.perfetto_size;
  options.source_root = source_root(settings.source_root);
  options.group_by_range = settings.group_by_range;
  options.help_of = help_of_kind;
  if (settings.command == CommandId::kReport)
    options.stack_depth = settings.stack_depth.value_or(0);
  return options;
}

std::string written(const Report& report, std::string_view format, const OutputOptions& options) {
  for (const OutputInfo* output : outputs()) {
    if (output->id != format) continue;
    std::ostringstream text;
    output->write(report, options, text);
    return std::move(text).str();
  }
  throw UserError(cat({"this build has no report format '", format, "'"}), ExitStatus::kInternal);
}

} // namespace

ReportOptions report_options(const Settings& settings) {
  ReportOptions options;
  options.min_bytes = settings.min_bytes;
  options.suppression_files.assign(settings.suppressions.begin(), settings.suppressions.end());
  options.only = settings.only;
  options.skip = settings.skip;
  options.analysis.group_by_range = settings.group_by_range;
  options.analysis.policies = settings.policies;
  options.analysis.coalescing_floor =
    settings.coalescing_floor.value_or(MemoryAccess::kDefaultFloor);
  if (any_needs(settings, &OutputInfo::needs_history))
    options.analysis.history.columns = kHistoryColumns;
  if (any_needs(settings, &OutputInfo::needs_timeline))
    options.analysis.timeline = timeline_size(settings.perfetto_size);
  options.analysis.span = settings.span;
  options.symbols = settings.symbols;
  options.sources = settings.sources;
  options.native_frames = settings.native_frames;
  options.all_stacks = any_needs(settings, &OutputInfo::needs_stacks);
  // The binaries are here now
  const bool is_run =
    settings.command != CommandId::kReport && settings.command != CommandId::kDiff;
  options.write_symbols = settings.symbols && is_run;
  return options;
}

std::string render(const Report& report, const Settings& settings, int descriptor) {
  if (settings.print_suppressions) {
    std::ostringstream text;
    print_suppressions(report, text);
    return text.str();
  }
  OutputOptions options = output_options(settings);
  options.color = use_color(settings.color, descriptor);
  options.width = text_width(descriptor);
  options.links = options.color && shows_links(descriptor);
  const bool rest_is_in_files = settings.command == CommandId::kCheck && settings.output.empty() &&
                                !settings.format_files.empty();
  if (rest_is_in_files) options.finding_lines = kLinesOfFindings;
  return written(report, settings.format, options);
}

std::string render_file(const Report& report, const Settings& settings, std::string_view format) {
  return written(report, format, output_options(settings));
}

std::string count_text(const Report& report) {
  std::string text = format_plural(report.count(Severity::kError), "error") + ", " +
                     format_plural(report.count(Severity::kWarning), "warning");
  for (const Failure* failure : report.conclusion.beside_findings()) text += "; " + failure->brief;
  return text;
}

} // namespace gmt
