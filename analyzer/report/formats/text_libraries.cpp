// SPDX-License-Identifier: Apache-2.0
// What libraries do for themselves, in brief. A framework's caches make dozens of leaks that the program cannot
// mend, and cuBLAS's kernels hundreds of findings about accesses; the program's own would drown in them. JSON has
// every one. See text_layout.h.
#include <compare>
#include <map>

#include "analyzer/report/formats/text_layout.h"
#include "analyzer/base/text_format.h"

namespace gmt::text {
namespace {

// Findings of one process that are told as one. Of leaks, memory of a device and of the host are told apart by `reason`.
struct Key {
  std::size_t process;
  std::string kind, owner, reason;
  auto operator<=>(const Key&) const = default;
};

struct Sum {
  std::size_t place = 0; // where the text speaks of it
  std::uint64_t bytes = 0, count = 0, findings = 0;
};

// "; cuBLAS holds it: its workspace lives as long as the handle.", empty if the finding is not of this kind.
std::string reason_of(const Finding& finding) {
  const std::size_t at = finding.message.find(cat({"; ", finding.owner, " holds it"}));
  return at != std::string::npos ? finding.message.substr(at) : "";
}

void tell_leaks(ReportedFinding& largest, const Sum& all, const std::string& reason) {
  largest.bytes = all.bytes;
  largest.count = all.count;
  largest.range.clear();
  largest.message = cat({format_bytes(all.bytes), " in ", format_plural(all.count, "block"), ", allocated at ",
                         format_plural(all.findings, "place"), ", was never freed", reason});
  for (LabelledStack& stack : largest.stacks) stack.label = cat({"the largest ", stack.label});
}

void tell_accesses(ReportedFinding& largest, const Sum& all) {
  const std::uint64_t others = all.findings - 1;
  largest.advice += cat({" ", format_count(others), others == 1 ? " other place" : " other places", " in ", largest.owner,
                         "'s kernels of which the same is true ", others == 1 ? "is" : "are",
                         " not shown: --format json lists all."});
}

} // namespace

std::vector<ReportedFinding> with_libraries_in_brief(const Report& report) {
  std::vector<ReportedFinding> shown;
  std::map<Key, Sum> sums;
  for (const ReportedFinding& finding : report.findings) {
    const std::string reason = reason_of(finding);
    if (finding.owner.empty() || (!finding.access && reason.empty())) {
      shown.push_back(finding);
      continue;
    }
    const Key key{finding.process, finding.kind, finding.owner, reason};
    const auto [at, is_new] = sums.try_emplace(key, Sum{shown.size()});
    if (is_new) shown.push_back(finding); // the largest comes first
    at->second.bytes += finding.bytes;
    at->second.count += finding.count;
    ++at->second.findings;
  }
  for (const auto& [key, all] : sums) {
    ReportedFinding& largest = shown[all.place];
    if (all.findings == 1) continue;
    if (largest.access) {
      tell_accesses(largest, all);
    } else {
      tell_leaks(largest, all, key.reason);
    }
  }
  return shown;
}

} // namespace gmt::text
