// SPDX-License-Identifier: Apache-2.0
// Equal findings are one, with their sums.
#include "analyzer/analysis/grouping.h"

#include "analyzer/detectors/shared/descriptions.h"
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

TEST(Grouping, EqualFindingsAddUp) {
  const Ranges::Texts texts;
  const Ranges ranges(texts);
  Grouping grouping(ranges);
  Finding f;
  f.kind = "leak";
  f.bytes = 10;
  f.stacks.push_back(stack_as(StackRole::kAllocated, StackId{3}, "cudaMalloc"));
  grouping.add(f);
  grouping.add(f);
  f.group = "other";
  grouping.add(f);
  f.stacks[0].stack = {4};
  grouping.add(f);
  grouping.not_checked({"leak", "why"});
  grouping.not_checked({"leak", "why"});
  const auto findings = grouping.take_findings();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].count, 2u);
  EXPECT_EQ(findings[0].bytes, 20u);
  EXPECT_EQ(grouping.take_not_checked().size(), 1u);
}

} // namespace
} // namespace gmt::test
