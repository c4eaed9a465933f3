// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/shared/ranks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"

namespace gmt {
namespace {

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

std::string where_of(const Report& report, const Peers& peers, const std::vector<std::size_t>& all,
                     const std::vector<ReportedFinding>& findings) {
  std::vector<std::size_t> processes;
  for (const std::size_t i : all) processes.push_back(findings[i].process);
  std::string text =
    fmt::format("in {} of {} {}", processes.size(), peers.processes.size(), peers.noun());
  if (processes.size() < peers.processes.size()) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t process : peers.processes) {
      if (std::ranges::find(processes, process) != processes.end())
        numbers.push_back(number_of(report, peers, process));
    }
    text += fmt::format(" ({} {})", peers.are_ranks ? "rank" : "pid", numbers_in_words(numbers));
  }
  const auto bytes = [&findings](std::size_t i) { return findings[i].bytes; };
  const auto [least, most] = std::ranges::minmax_element(all, {}, bytes);
  if (bytes(*least) != bytes(*most))
    text += fmt::format(", {} to {} each", format_bytes(bytes(*least)), format_bytes(bytes(*most)));
  return text;
}

constexpr RankFigure kFigures[] = {
  {"peak", [](const ProcessReport& p) { return p.totals.peak_bytes; }},
  {"live at end", [](const ProcessReport& p) { return p.totals.live_bytes; }},
  {"allocations", [](const ProcessReport& p) { return p.totals.allocations; }, false},
};

std::string figure_text(const RankFigure& figure, std::uint64_t value) {
  return figure.is_bytes ? format_bytes(value) : format_count(value);
}

std::uint64_t median_of(const Report& report, const Peers& peers, const RankFigure& figure) {
  std::vector<std::uint64_t> values;
  for (const std::size_t process : peers.processes)
    values.push_back(figure.of(report.processes[process]));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Half as much again, and enough to matter.
bool is_outlier(const RankFigure& figure, std::uint64_t value, std::uint64_t median) {
  const std::uint64_t least = figure.is_bytes ? 1 << 20 : 16;
  const auto [low, high] = std::minmax(value, median);
  return high - low >= least && static_cast<double>(high) > 1.5 * static_cast<double>(low);
}

} // namespace

bool Peers::contains(std::size_t process) const {
  return std::ranges::find(processes, process) != processes.end();
}

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

std::vector<EqualFindings> equal_findings(const Report& report, const Peers& peers,
                                          const std::vector<ReportedFinding>& findings) {
  if (peers.processes.size() < 2) return {};
  // Of equal findings in one process the first ones belong together, and so on.
  using Key = std::tuple<std::string, std::size_t>;
  std::map<Key, std::vector<std::size_t>> groups;
  std::map<Key, std::size_t> seen;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!peers.contains(findings[i].process)) continue;
    const std::string print = fingerprint_of(findings[i]);
    groups[{print, seen[{print, findings[i].process}]++}].push_back(i);
  }
  std::vector<EqualFindings> result;
  for (auto& [key, all] : groups) {
    if (all.size() < 2) continue;
    std::string where = where_of(report, peers, all, findings);
    result.push_back({std::move(all), std::move(where)});
  }
  return result;
}

std::string RankFigure::text_of(const ProcessReport& process) const {
  return figure_text(*this, of(process));
}

std::span<const RankFigure> rank_figures() { return kFigures; }

std::vector<Outlier> outliers(const Report& report, const Peers& peers) {
  std::vector<Outlier> found;
  if (peers.processes.size() < 3) return found; // of two none is the usual one
  for (const std::size_t process : peers.processes) {
    std::string words;
    for (const RankFigure& figure : kFigures) {
      const std::uint64_t value = figure.of(report.processes[process]);
      const std::uint64_t median = median_of(report, peers, figure);
      if (!is_outlier(figure, value, median)) continue;
      words += fmt::format("{}{} {} (median {})", words.empty() ? "" : ", ", figure.name,
                           figure_text(figure, value), figure_text(figure, median));
    }
    if (words.empty()) continue;
    found.push_back({process, fmt::format("{} {} differs: {}", peers.are_ranks ? "rank" : "pid",
                                          number_of(report, peers, process), words)});
  }
  return found;
}

} // namespace gmt
