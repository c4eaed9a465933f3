// SPDX-License-Identifier: Apache-2.0
// What libraries do for themselves, in brief. A framework's caches make dozens of leaks that the
// user cannot mend, and cuBLAS's kernels make hundreds of findings about accesses. What is the
// program's own would drown in them. JSON has every one.
#include <compare>
#include <map>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

// Findings of one process that are shown as one. Leaks of device memory and of host memory have
// different clauses.
struct Key {
  std::size_t process;
  std::string kind, owner, clause;
  auto operator<=>(const Key&) const = default;
};

struct Sum {
  std::size_t index = 0; // of the finding that is shown for all
  std::uint64_t bytes = 0, count = 0, findings = 0;
};

void describe_leaks(ReportedFinding& largest, const Sum& all) {
  largest.bytes = all.bytes;
  largest.count = all.count;
  largest.range.clear();
  largest.message =
    cat({format_bytes(all.bytes), " in ", format_plural(all.count, "block"), ", allocated at ",
         format_plural(all.findings, "place"), ", was never freed", largest.owner_clause, "."});
  for (LabelledStack& stack : largest.stacks) {
    stack.label = cat({"the largest ", stack.label});
    stack.shows_call = true;
  }
}

void describe_accesses(ReportedFinding& largest, const Sum& all) {
  const std::uint64_t others = all.findings - 1;
  largest.advice += cat({" ", format_count(others), others == 1 ? " other place" : " other places",
                         " in ", largest.owner, "'s kernels of which the same is true ",
                         others == 1 ? "is" : "are", " not shown: --format json lists all."});
}

} // namespace

std::vector<ReportedFinding> with_libraries_in_brief(const Report& report) {
  std::vector<ReportedFinding> shown;
  std::map<Key, Sum> sums;
  for (const ReportedFinding& finding : report.findings) {
    const bool is_kept = finding.measure == Measure::kLostBlocks && !finding.owner_clause.empty();
    if (finding.owner.empty() || (!finding.access && !is_kept)) {
      shown.push_back(finding);
      continue;
    }
    const Key key{finding.process, finding.kind, finding.owner, finding.owner_clause};
    const auto [at, is_new] = sums.try_emplace(key, Sum{shown.size()});
    if (is_new) shown.push_back(finding); // the largest comes first
    at->second.bytes += finding.bytes;
    at->second.count += finding.count;
    ++at->second.findings;
  }
  for (const auto& [key, all] : sums) {
    ReportedFinding& largest = shown[all.index];
    if (all.findings == 1) continue;
    if (largest.access) {
      describe_accesses(largest, all);
    } else {
      describe_leaks(largest, all);
    }
  }
  return shown;
}

} // namespace gmt::text
