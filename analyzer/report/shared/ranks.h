// SPDX-License-Identifier: Apache-2.0
// Runs of several equal processes, such as mpirun and torchrun start: which processes belong
// together, which of their findings are equal, and which processes differ from the others.
// Launchers number them; where none did, the processes of one command line belong together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace gmt {

// Processes that belong together, by their index in the report. Fewer than two: none do.
struct Peers {
  std::vector<std::size_t> processes; // in the order of their ranks
  bool are_ranks = false;

  bool contains(std::size_t process) const;
  std::string_view noun() const { return are_ranks ? "ranks" : "processes"; }
};

Peers peers_of(const Report& report);

// The rank of a process, or its process id where a launcher gave none.
std::uint64_t number_of(const Report& report, const Peers& peers, std::size_t process);

// Findings that several processes have alike.
struct EqualFindings {
  std::vector<std::size_t> all; // their indices, two at least; the first one stands for all
  std::string where;            // "in 5 of 6 ranks (rank 0 to 3, 5), 1.0 MiB to 64.0 MiB each"
};

std::vector<EqualFindings> equal_findings(const Report& report, const Peers& peers,
                                          const std::vector<ReportedFinding>& findings);

// What processes are compared by.
struct RankFigure {
  std::string_view name;
  std::uint64_t (*of)(const ProcessReport&);
  bool is_bytes = true;

  std::string text_of(const ProcessReport& process) const;
};

std::span<const RankFigure> rank_figures();

// A process with a figure far from the median of its peers.
struct Outlier {
  std::size_t process = 0;
  std::string words; // "rank 2 differs: peak 3.6 GiB (median 1.2 GiB)"
};

std::vector<Outlier> outliers(const Report& report, const Peers& peers);

} // namespace gmt
