// SPDX-License-Identifier: Apache-2.0
// Runs of several equal processes, such as mpirun and torchrun start: findings that several have
// are shown once, and a table has a row for each process. Launchers number them; where none did,
// the processes of one command line belong together.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

constexpr std::size_t kRankRows = 16;

// Processes that belong together, by their index in the report.
struct Peers {
  std::vector<std::size_t> processes;
  bool are_ranks = false;

  bool contains(std::size_t process) const {
    return std::ranges::find(processes, process) != processes.end();
  }
  std::string_view noun() const { return are_ranks ? "ranks" : "processes"; }
};

Peers peers_of(const Report& report) {
  Peers peers;
  std::map<std::vector<std::string>, std::vector<std::size_t>> by_command;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const ProcessReport& process = report.processes[i];
    if (process.rank) peers.processes.push_back(i);
    std::vector<std::string> command = process.arguments;
    command.push_back(process.executable);
    by_command[command].push_back(i);
  }
  peers.are_ranks = peers.processes.size() > 1;
  if (peers.are_ranks) {
    std::ranges::stable_sort(peers.processes, {},
                             [&report](std::size_t i) { return *report.processes[i].rank; });
    return peers;
  }
  peers.processes.clear();
  for (const auto& [command, processes] : by_command) {
    if (processes.size() > std::max<std::size_t>(peers.processes.size(), 1))
      peers.processes = processes;
  }
  return peers;
}

std::uint64_t number_of(const Report& report, const Peers& peers, std::size_t process) {
  return peers.are_ranks ? *report.processes[process].rank : report.processes[process].pid;
}

// "0 to 2, 5"
std::string numbers_in_words(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

// Equal findings of several processes.
struct Equal {
  std::vector<std::size_t> all; // indices of findings, the first one is shown
  std::vector<std::size_t> processes;
};

std::string where_of(const Report& report, const Peers& peers, const Equal& equal,
                     const std::vector<ReportedFinding>& findings) {
  std::string text =
    fmt::format("in {} of {} {}", equal.processes.size(), peers.processes.size(), peers.noun());
  if (equal.processes.size() < peers.processes.size()) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t process : peers.processes) {
      if (std::ranges::find(equal.processes, process) != equal.processes.end())
        numbers.push_back(number_of(report, peers, process));
    }
    text += fmt::format(" ({} {})", peers.are_ranks ? "rank" : "pid", numbers_in_words(numbers));
  }
  const auto bytes = [&findings](std::size_t i) { return findings[i].bytes; };
  const auto [least, most] = std::ranges::minmax_element(equal.all, {}, bytes);
  if (bytes(*least) != bytes(*most))
    text += fmt::format(", {} to {} each", format_bytes(bytes(*least)), format_bytes(bytes(*most)));
  return text;
}

struct Figure {
  std::string_view name;
  std::uint64_t (*of)(const ProcessReport&);
  bool is_bytes = true;
};

constexpr Figure kFigures[] = {
  {"peak", [](const ProcessReport& p) { return p.totals.peak_bytes; }},
  {"live at end", [](const ProcessReport& p) { return p.totals.live_bytes; }},
  {"allocations", [](const ProcessReport& p) { return p.totals.allocations; }, false},
};

std::string figure_text(const Figure& figure, std::uint64_t value) {
  return figure.is_bytes ? format_bytes(value) : format_count(value);
}

std::uint64_t median_of(const Report& report, const Peers& peers, const Figure& figure) {
  std::vector<std::uint64_t> values;
  for (const std::size_t process : peers.processes)
    values.push_back(figure.of(report.processes[process]));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Half as much again, and enough to matter.
bool is_outlier(const Figure& figure, std::uint64_t value, std::uint64_t median) {
  const std::uint64_t least = figure.is_bytes ? 1 << 20 : 16;
  const auto [low, high] = std::minmax(value, median);
  return high - low >= least && static_cast<double>(high) > 1.5 * static_cast<double>(low);
}

// A sentence for each process that differs from the others.
std::vector<std::pair<std::size_t, std::string>> outliers(const Report& report,
                                                          const Peers& peers) {
  std::vector<std::pair<std::size_t, std::string>> found;
  if (peers.processes.size() < 3) return found; // of two none is the usual one
  for (const std::size_t process : peers.processes) {
    std::string words;
    for (const Figure& figure : kFigures) {
      const std::uint64_t value = figure.of(report.processes[process]);
      const std::uint64_t median = median_of(report, peers, figure);
      if (!is_outlier(figure, value, median)) continue;
      words += fmt::format("{}{} {} (median {})", words.empty() ? "" : ", ", figure.name,
                           figure_text(figure, value), figure_text(figure, median));
    }
    if (words.empty()) continue;
    found.emplace_back(process, fmt::format("{} {} differs: {}", peers.are_ranks ? "rank" : "pid",
                                            number_of(report, peers, process), words));
  }
  return found;
}

} // namespace

std::vector<ReportedFinding> once_for_all_ranks(const Report& report,
                                                std::vector<ReportedFinding> findings) {
  const Peers peers = peers_of(report);
  if (peers.processes.size() < 2) return findings;
  // Of equal findings in one process the first ones belong together, and so on.
  std::map<std::tuple<std::string, std::size_t>, Equal> groups;
  std::map<std::tuple<std::string, std::size_t>, std::size_t> seen;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!peers.contains(findings[i].process)) continue;
    const std::string print = fingerprint_of(findings[i]);
    Equal& equal = groups[{print, seen[{print, findings[i].process}]++}];
    equal.all.push_back(i);
    equal.processes.push_back(findings[i].process);
  }
  std::vector<bool> is_shown(findings.size(), true);
  for (const auto& [key, equal] : groups) {
    if (equal.all.size() < 2) continue;
    findings[equal.all.front()].shared = where_of(report, peers, equal, findings);
    for (std::size_t i = 1; i < equal.all.size(); ++i) is_shown[equal.all[i]] = false;
  }
  std::vector<ReportedFinding> shown;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (is_shown[i]) shown.push_back(std::move(findings[i]));
  }
  return shown;
}

std::string rank_table(const Report& report, TableChoice choice) {
  const Peers peers = peers_of(report);
  if (choice == TableChoice::kNone || peers.processes.size() < 2) return "";
  const auto differing = outliers(report, peers);
  std::vector<std::size_t> order;
  for (const auto& [process, words] : differing) order.push_back(process);
  for (const std::size_t process : peers.processes) {
    if (std::ranges::find(order, process) == order.end()) order.push_back(process);
  }
  const std::size_t rows =
    choice == TableChoice::kAll ? order.size() : std::min(kRankRows, order.size());
  order.resize(rows);
  Table table{{peers.are_ranks ? "rank" : "process"}, {}};
  for (const Figure& figure : kFigures) table.heads.emplace_back(figure.name);
  for (const std::size_t process : peers.processes) {
    if (std::ranges::find(order, process) == order.end()) continue;
    Table::Row& row = table.rows.emplace_back();
    row.push_back(std::to_string(number_of(report, peers, process)));
    for (const Figure& figure : kFigures)
      row.push_back(figure_text(figure, figure.of(report.processes[process])));
  }
  std::string out = lines_of(table, table.rows.size(), 0);
  if (const std::size_t more = peers.processes.size() - rows; more != 0)
    out += fmt::format("  {} not shown: --tables all shows all\n", format_plural(more, "more row"));
  for (const auto& [process, words] : differing) out += wrap(words, 4, 2);
  return out;
}

} // namespace gmt::text
