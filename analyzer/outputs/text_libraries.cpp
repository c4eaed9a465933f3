// SPDX-License-Identifier: Apache-2.0
// What libraries keep for themselves, in brief: a framework's caches make dozens of leaks that are nobody's to mend, and
// what is the program's own would drown in them. Used by text.cpp, see text_layout.h; JSON has every one.
#include <map>
#include <tuple>

#include "analyzer/outputs/text_layout.h"
#include "analyzer/words.h"

namespace gmt::text {
namespace {

// Of one process; memory of a device and of the host are told apart by how the sentence ends.
using Key = std::tuple<std::size_t, std::string, std::string>;

struct Kept {
  std::size_t place = 0; // where the text speaks of it
  std::uint64_t bytes = 0, blocks = 0, findings = 0;
};

// "; cuBLAS holds it: its workspace lives as long as the handle.", empty if the finding is not of this kind.
std::string reason_of(const Finding& finding) {
  if (finding.kind != "leak" || finding.owner.empty()) return "";
  const std::size_t at = finding.message.find(cat({"; ", finding.owner, " holds it"}));
  return at != std::string::npos ? finding.message.substr(at) : "";
}

} // namespace

std::vector<ReportedFinding> with_libraries_in_brief(const Report& report, std::size_t count) {
  std::vector<ReportedFinding> shown;
  std::map<Key, Kept> kept;
  for (std::size_t i = 0; i < count; ++i) {
    const ReportedFinding& finding = report.findings[i];
    const std::string reason = reason_of(finding);
    if (reason.empty()) {
      shown.push_back(finding);
      continue;
    }
    const auto [at, is_new] = kept.try_emplace({finding.process, finding.owner, reason}, Kept{shown.size()});
    if (is_new) shown.push_back(finding); // the largest comes first
    at->second.bytes += finding.bytes;
    at->second.blocks += finding.count;
    ++at->second.findings;
  }
  for (const auto& [key, all] : kept) {
    if (all.findings == 1) continue;
    ReportedFinding& finding = shown[all.place];
    finding.bytes = all.bytes;
    finding.count = all.blocks;
    finding.range.clear();
    finding.message = cat({format_bytes(all.bytes), " in ", format_plural(all.blocks, "block"), ", allocated at ",
                           format_plural(all.findings, "place"), ", was never freed", std::get<2>(key)});
    for (LabelledStack& stack : finding.stacks) stack.label = cat({"the largest ", stack.label});
  }
  return shown;
}

} // namespace gmt::text
