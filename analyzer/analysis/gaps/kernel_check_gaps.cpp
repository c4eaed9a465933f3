// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analysis/gaps/gaps.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/symbols/demangle.h"
#include "trace/kernel_check_words.h"

namespace gmt {
namespace {

constexpr std::string_view kFirstKind = "kernel-out-of-bounds", // stands for all kinds
  kKindOfInit = "kernel-uninitialized-read";
constexpr std::size_t kMostNames = 5;      // of one reason
constexpr std::size_t kLongestKernel = 60; // template arguments of a library's kernel fill a screen

// Kernels that ran without checks for one reason.
struct UncheckedReason {
  std::string_view words;
  std::vector<std::string> kernels;
  std::uint64_t launches = 0;
};

std::vector<UncheckedReason> by_reason(const std::vector<Executions::Unchecked>& all) {
  std::vector<UncheckedReason> reasons;
  for (const Executions::Unchecked& one : all) {
    auto known = std::ranges::find(reasons, one.reason, &UncheckedReason::words);
    if (known == reasons.end()) known = reasons.insert(known, {one.reason, {}, 0});
    known->launches += one.launches;
    if (one.kernel.empty()) continue;
    std::string kernel = demangle(one.kernel);
    if (kernel.size() > kLongestKernel)
      kernel = shorten_function(bare_function(kernel), kLongestKernel);
    if (std::ranges::find(known->kernels, kernel) == known->kernels.end())
      known->kernels.push_back(kernel);
  }
  return reasons;
}

std::string names(const std::vector<std::string>& kernels) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kernels.size(), kMostNames); ++i)
    text += cat({i == 0 ? "" : ", ", kernels[i]});
  if (kernels.size() > kMostNames)
    text += cat({" and ", std::to_string(kernels.size() - kMostNames), " more"});
  return text;
}

} // namespace

void report_kernel_check_gaps(const Executions& executions, Findings& findings) {
  for (const UncheckedReason& reason : by_reason(executions.unchecked)) {
    const bool of_init = reason.words.starts_with(trace::kInitReason);
    std::string text = of_init ? "--kernel-checks=" : "--kernel-checks: ";
    if (reason.launches != 0) {
      const bool one = reason.launches == 1;
      text +=
        cat({format_count(reason.launches), one ? " launch" : " launches", " ran without checks"});
      if (!reason.kernels.empty()) text += cat({" (", names(reason.kernels), ")"});
      text += ": ";
    }
    text += reason.words;
    if (reason.launches == 0 && !reason.kernels.empty())
      text += cat({", in ", names(reason.kernels)});
    findings.not_checked({std::string(of_init ? kKindOfInit : kFirstKind), text});
  }
}

void report_race_gaps(const Executions& executions, Findings& findings) {
  for (const UncheckedReason& reason : by_reason(executions.without_races))
    findings.not_checked(
      {"global-race",
       cat({"races in global memory were not looked for everywhere in ",
            format_count(reason.launches), reason.launches == 1 ? " launch (" : " launches (",
            names(reason.kernels), "): ", reason.words})});
}

} // namespace gmt
