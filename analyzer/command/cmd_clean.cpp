// SPDX-License-Identifier: Apache-2.0
// `clean`: lists the traces in folders with their sizes and ages, and removes them where that is
// asked for. Only a folder that is a trace by its name and its files is ever removed, never through
// a link, and never one of a process that may still write to it.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/run/removed_traces.h"
#include "analyzer/command/run/run_traces.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

std::string age_text(std::chrono::hours age) {
  const auto hours = static_cast<std::uint64_t>(std::max<std::int64_t>(age.count(), 0));
  return hours < 48 ? format_plural(hours, "hour") : format_plural(hours / 24, "day");
}

std::vector<TraceHead> traces_in(const std::string& word) {
  if (is_trace(word)) return {read_head(word)};
  std::error_code error;
  if (!fs::is_directory(word, error))
    throw UserError("'" + word + "' is no folder; name a trace, or a folder that holds traces",
                    ExitStatus::kUsage);
  return find_traces(word);
}

} // namespace

int command_clean(const Settings& settings) {
  std::vector<std::string> words = settings.words;
  if (words.empty()) words.emplace_back(".");
  std::uint64_t bytes = 0, count = 0, kept = 0;
  std::string text;
  for (const std::string& word : words) {
    for (const TraceHead& trace : traces_in(word)) {
      const TraceSize size = size_of_trace(trace.path);
      const bool is_too_young =
        settings.min_days && size.age < std::chrono::hours(24 * *settings.min_days);
      if (is_too_young) continue;
      const std::string name = printable(trace.path.lexically_normal().string());
      const std::string row =
        fmt::format("{:>10}  {:>9}  {}", format_bytes(size.bytes), age_text(size.age), name);
      std::string problem = why_not_removable(trace);
      if (problem.empty() && settings.remove) problem = remove_trace(trace.path);
      if (problem.empty()) {
        bytes += size.bytes;
        ++count;
      } else {
        ++kept;
      }
      text += row + (problem.empty() ? "" : "  (stays: " + problem + ")") + "\n";
    }
  }
  const std::string sum = format_plural(count, "trace") + ", " + format_bytes(bytes);
  if (settings.remove) text += "removed " + sum + "\n";
  else text += sum + (count != 0 ? "; 'gpumemtrace clean --remove' removes them" : "") + "\n";
  write_output(STDOUT_FILENO, "standard output", text);
  return settings.remove && kept != 0 ? static_cast<int>(ExitStatus::kFindings) : 0;
}

} // namespace gmt
