// SPDX-License-Identifier: Apache-2.0

#include "analyzer/report/live_findings.h"

#include <system_error>
#include <utility>

#include "analyzer/base/expected.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/report_builder.h"
#include "analyzer/symbols/stack_frames.h"

namespace gmt {

LiveSymbols::LiveSymbols(const Follower& follower)
    : follower_(follower), known_(SymbolFile::read(follower.trace().path)),
      modules_(follower.trace().modules), sources_(follower.trace().path, files_) {}

void LiveSymbols::read_modules() {
  std::error_code error;
  const std::filesystem::path& trace = follower_.trace().path;
  const std::uintmax_t size = std::filesystem::file_size(trace / "modules", error);
  if (error || size == modules_size_) return;
  Expected<TraceDir> now = open_trace(trace);
  if (!now) return;
  modules_ = std::move((*now).modules);
  modules_size_ = size;
}

void LiveSymbols::want(StackId stack) {
  read_modules();
  for (const std::uint64_t address : follower_.stacks().frames(stack)) {
    const Module* module = find_module(modules_, address);
    if (module == nullptr || known_.find(address, module->loaded) != nullptr) continue;
    resolver_.want(*module, address);
  }
}

void LiveSymbols::resolve() { resolver_.resolve(); }

std::vector<Frame> LiveSymbols::frames(StackId stack) const {
  const auto names = [this](const Module& module, std::uint64_t address) {
    const std::vector<Frame>* known = known_.find(address, module.loaded);
    return known != nullptr ? *known : resolver_.frames(module, address);
  };
  return stack_frames(follower_.stacks(), stack, modules_, names, false);
}

std::vector<ReportedFinding> reported_findings(std::vector<Finding> findings, LiveSymbols& symbols,
                                               Suppressions& suppressions) {
  for (const Finding& finding : findings) {
    for (const FindingStack& stack : finding.stacks) symbols.want(stack.stack);
  }
  symbols.resolve();
  std::vector<ReportedFinding> result;
  for (Finding& finding : findings) {
    for (FindingStack& stack : finding.stacks) {
      if (!stack.device) stack.frames = symbols.frames(stack.stack);
    }
    ReportedFinding reported = reported_finding(std::move(finding), symbols.sources());
    symbols.add_lines(reported);
    if (!suppressions.suppress(reported)) result.push_back(std::move(reported));
  }
  sort_findings(result);
  set_fingerprints(result);
  return result;
}

} // namespace gmt
