// SPDX-License-Identifier: Apache-2.0
// The lines of "not checked" about launches that ran without the checks of --kernel-checks.
#include "analyzer/analysis/gaps/gaps.h"

#include <gtest/gtest.h>

namespace gmt {
namespace {

struct Lines : Findings {
  void add(Finding) override {}
  void not_checked(NotChecked what) override { texts.push_back(what.why); }
  std::vector<std::string> texts;
};

std::vector<std::string> lines_of(std::vector<Executions::Unchecked> unchecked) {
  Executions executions;
  executions.unchecked = std::move(unchecked);
  Lines lines;
  report_kernel_check_gaps(executions, lines);
  return lines.texts;
}

TEST(KernelCheckGaps, KernelsOfOneReasonShareALine) {
  EXPECT_EQ(
    lines_of({{"_Z4fillPii", "no PTX", 2}, {"scale", "no PTX", 1}, {"sort", "too large", 1}}),
    (std::vector<std::string>{
      "--kernel-checks: 3 launches ran without checks (fill(int*, int), scale): no PTX",
      "--kernel-checks: 1 launch ran without checks (sort): too large"}));
}

TEST(KernelCheckGaps, NamesOfLibrariesKernelsAreShortAndStandOnce) {
  const std::string filled =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";
  const std::string added =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_";
  EXPECT_EQ(lines_of({{filled, "no PTX", 2}, {added, "no PTX", 1}}),
            (std::vector<std::string>{"--kernel-checks: 3 launches ran without checks "
                                      "(at::native::vectorized_elementwise_kernel<...>): no PTX"}));
}

TEST(KernelCheckGaps, WhatIsSaidOfNoLaunchStandsAlone) {
  EXPECT_EQ(lines_of({{"", "the library could not be opened", 0}}),
            (std::vector<std::string>{"--kernel-checks: the library could not be opened"}));
}

TEST(KernelCheckGaps, WhatInitDoesNotFollowIsNoGapOfBounds) {
  struct Kinds : Findings {
    void add(Finding) override {}
    void not_checked(NotChecked what) override { lines.push_back(what.what + "  " + what.why); }
    std::vector<std::string> lines;
  } kinds;
  Executions executions;
  executions.unchecked = {{"", "init: managed memory counts as written", 0}};
  report_kernel_check_gaps(executions, kinds);
  EXPECT_EQ(kinds.lines, (std::vector<std::string>{"kernel-uninitialized-read  "
                                                   "--kernel-checks=init: managed memory counts "
                                                   "as written"}));
}

TEST(KernelCheckGaps, KernelsThatWereCheckedInPartAreNamed) {
  EXPECT_EQ(
    lines_of({{"_Z4fillPii", "shared memory", 0}, {"scale", "shared memory", 0}}),
    (std::vector<std::string>{"--kernel-checks: shared memory, in fill(int*, int), scale"}));
}

} // namespace
} // namespace gmt
