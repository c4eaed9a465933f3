// SPDX-License-Identifier: Apache-2.0
// Live figures as text that fits the window: see top_view.h.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/live/live_report.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt {
namespace {

using TopLines = std::vector<std::string>;
using Processes = std::vector<LiveProcess>;

constexpr std::size_t kNumbers = 36; // columns before a holder's name

std::string cut(const std::string& line, std::size_t width) {
  if (text::columns(line) <= width) return line;
  std::string shorter = line;
  while (text::columns(shorter) > width - 3) {
    do shorter.pop_back();
    while (!shorter.empty() && (static_cast<unsigned char>(shorter.back()) & 0xc0) == 0x80);
    if (!shorter.empty() && static_cast<unsigned char>(shorter.back()) >= 0xc0) shorter.pop_back();
  }
  return shorter + "...";
}

std::string device_name(int device) {
  return device < 0 ? "host" : "device " + std::to_string(device);
}

std::string growth_text(std::int64_t growth) {
  if (growth == 0) return "";
  const auto size = static_cast<std::uint64_t>(growth < 0 ? -growth : growth);
  return (growth < 0 ? "-" : "+") + format_bytes(size);
}

TopLines holder_lines(std::string_view head, const std::vector<LiveHolder>& holders,
                      std::size_t width) {
  if (holders.empty()) return {};
  const bool is_wide = width > kNumbers + 20; // else bytes and name alone
  const auto row = [is_wide](const auto& bytes, const auto& change, const auto& blocks,
                             const auto& name) {
    return is_wide ? fmt::format("{:>12} {:>12} {:>8}  {}", bytes, change, blocks, name)
                   : fmt::format("{:>11}  {}", bytes, name);
  };
  TopLines lines{row("bytes", "change", "blocks", head)};
  for (const LiveHolder& holder : holders)
    lines.push_back(row(format_bytes(holder.bytes), growth_text(holder.growth),
                        format_count(holder.blocks), text::printable(holder.name)));
  return lines;
}

std::string process_name(const LiveProcess& process) {
  const std::string name = text::printable(base_name(process.info.executable));
  const std::string rank =
    process.info.rank ? fmt::format("   rank {}", *process.info.rank) : std::string();
  return fmt::format("{}   pid {}{}{}", name, process.info.pid, rank,
                     process.has_ended ? "   ended" : "");
}

std::string rate_text(const LiveProcess& process, double seconds) {
  const std::uint64_t made = process.totals.allocations - process.allocations_before;
  if (seconds <= 0) return "";
  return fmt::format("   {:.0f} allocations/s", static_cast<double>(made) / seconds);
}

TopLines finding_lines(const LiveProcess& process) {
  if (process.findings.empty()) return {};
  TopLines lines{"newest findings of " + format_plural(process.errors, "error") + ", " +
                 format_plural(process.warnings, "warning")};
  for (const ReportedFinding& finding : process.findings)
    lines.push_back(fmt::format("{:<8} {:<20} {}", tools::severity_word(finding.severity),
                                finding.kind, text::printable(finding.message)));
  return lines;
}

TopLines table_of_processes(const Processes& processes, double seconds) {
  if (processes.size() < 2) return {};
  TopLines lines{fmt::format("{:>10} {:>5} {:>12} {:>12} {:>14} {:>12}", "pid", "rank", "live",
                             "peak", "allocations", "alloc/s")};
  for (const LiveProcess& process : processes) {
    const std::uint64_t made = process.totals.allocations - process.allocations_before;
    const std::string rate =
      seconds > 0 ? fmt::format("{:.0f}", static_cast<double>(made) / seconds) : std::string("-");
    lines.push_back(fmt::format("{:>10} {:>5} {:>12} {:>12} {:>14} {:>12}", process.info.pid,
                                process.info.rank ? std::to_string(*process.info.rank) : "-",
                                format_bytes(process.totals.live_bytes),
                                format_bytes(process.totals.peak_bytes),
                                format_count(process.totals.allocations), rate));
  }
  return lines;
}

const LiveProcess& shown_process(const Processes& processes, const TopView& view) {
  for (const LiveProcess& process : processes)
    if (view.pid == process.info.pid) return process;
  return *std::ranges::max_element(
    processes, {}, [](const LiveProcess& process) { return process.totals.live_bytes; });
}

TopLines head_of(const LiveProcess& process, double seconds, const TopView& view) {
  TopLines lines{process_name(process) + (view.is_paused ? "   paused" : "")};
  lines.push_back(fmt::format(
    "device memory {}, peak {}, {}{}", format_bytes(process.totals.live_bytes),
    format_bytes(process.totals.peak_bytes),
    format_plural(process.totals.allocations, "allocation"), rate_text(process, seconds)));
  const auto history = view.history.find(process.trace);
  const std::string line =
    history == view.history.end()
      ? std::string()
      : sparkline(history->second, view.width > 4 ? view.width - 4 : 0, view.draws_blocks);
  if (!line.empty()) lines.push_back(line);
  for (const auto& [device, all] : process.devices)
    lines.push_back(fmt::format("{}: {} of {} are in use, by all processes", device_name(device),
                                format_bytes(all.used), format_bytes(all.total)));
  if (process.failures != 0)
    lines.push_back(format_plural(process.failures, "allocation") + " refused by CUDA");
  return lines;
}

TopLines memory_lines(const LiveProcess& process, std::size_t width) {
  if (width <= kNumbers + 20) {
    TopLines lines{fmt::format("{:>11}  {}", "live", "memory")};
    for (const LiveMemory& row : process.memory)
      lines.push_back(fmt::format("{:>11}  {}, {}", format_bytes(row.live_bytes), row.memory_kind,
                                  device_name(row.device)));
    return lines;
  }
  TopLines lines{fmt::format("{:>12} {:>12} {:>8}  {}", "live", "peak", "blocks", "memory")};
  for (const LiveMemory& row : process.memory)
    lines.push_back(fmt::format("{:>12} {:>12} {:>8}  {}, {}", format_bytes(row.live_bytes),
                                format_bytes(row.peak_bytes), format_count(row.live_blocks),
                                row.memory_kind, device_name(row.device)));
  return lines;
}

std::string title_of_holders(const HolderChoice& choice) {
  using Sort = HolderChoice::Sort;
  std::string title = choice.kind ? std::string(memory_noun(*choice.kind)) + " allocated at"
                                  : std::string("allocated at");
  if (choice.sort == Sort::kChange) title += ", by change";
  if (choice.sort == Sort::kBlocks) title += ", by blocks";
  return title;
}

constexpr const char* kKeys = "q quit  p pause  s sort  k kind  n next";

} // namespace

std::string live_text(const Processes& processes, double seconds, const TopView& view) {
  const LiveProcess& process = shown_process(processes, view);
  const std::size_t rows = view.rows == 0 ? 0 : std::max<std::size_t>(view.rows, 3);
  const TopLines all =
    fitted({head_of(process, seconds, view), table_of_processes(processes, seconds),
            memory_lines(process, view.width),
            holder_lines(title_of_holders(view.choice), process.holders, view.width),
            holder_lines("allocated in range", process.ranges, view.width), finding_lines(process)},
           rows == 0 || !view.with_keys ? rows : rows - 1);
  std::string out;
  for (const std::string& line : all) out += cut(line, view.width) + "\n";
  if (view.with_keys) out += cut(kKeys, view.width); // no line end: the screen would move up
  else if (view.rows != 0) out.pop_back();
  return out;
}

} // namespace gmt
