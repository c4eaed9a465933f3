// SPDX-License-Identifier: Apache-2.0
// Runs of several equal processes as text: findings that several have are shown once, and a table
// has a row for each process.
#include <algorithm>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/report/shared/ranks.h"

namespace gmt::text {
namespace {

constexpr std::size_t kRankRows = 16;

} // namespace

std::vector<ReportedFinding> once_for_all_ranks(const Report& report,
                                                std::vector<ReportedFinding> findings) {
  std::vector<bool> is_shown(findings.size(), true);
  for (const EqualFindings& equal : equal_findings(report, peers_of(report), findings)) {
    findings[equal.all.front()].shared = equal.where;
    for (std::size_t i = 1; i < equal.all.size(); ++i) is_shown[equal.all[i]] = false;
  }
  std::vector<ReportedFinding> shown;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (is_shown[i]) shown.push_back(std::move(findings[i]));
  }
  return shown;
}

std::string rank_table(const Report& report, TableChoice choice, const Page& page) {
  const Peers peers = peers_of(report);
  if (choice == TableChoice::kNone || peers.processes.size() < 2) return "";
  const auto differing = outliers(report, peers);
  std::vector<std::size_t> order;
  for (const Outlier& outlier : differing) order.push_back(outlier.process);
  for (const std::size_t process : peers.processes) {
    if (std::ranges::find(order, process) == order.end()) order.push_back(process);
  }
  const std::size_t rows =
    choice == TableChoice::kAll ? order.size() : std::min(kRankRows, order.size());
  order.resize(rows);
  Table table{{peers.are_ranks ? "rank" : "process"}, {}};
  for (const RankFigure& figure : rank_figures()) table.heads.emplace_back(figure.name);
  for (const std::size_t process : peers.processes) {
    if (std::ranges::find(order, process) == order.end()) continue;
    Table::Row& row = table.rows.emplace_back();
    row.push_back(std::to_string(number_of(report, peers, process)));
    for (const RankFigure& figure : rank_figures())
      row.push_back(figure.text_of(report.processes[process]));
  }
  std::string out = lines_of(table, table.rows.size(), 0, page.width);
  if (const std::size_t more = peers.processes.size() - rows; more != 0)
    out += "  " + format_plural(more, "more row") + " not shown: --tables all shows all\n";
  for (const Outlier& outlier : differing) out += wrap(outlier.words, 4, 2, page.width);
  return out;
}

} // namespace gmt::text
