// SPDX-License-Identifier: Apache-2.0
// What the simulated device sees in code that --kernel-checks wrote.
#include "tests/unit/analyzer/detectors/kernels/faults_fixture.h"

namespace gmt::test {
namespace {

class CheckedFaults : public Faults {};

// The simulated device sees it in checked code first, and the code says it behind the launch.
TEST_F(CheckedFaults, WhatDeviceAndCheckedCodeSeeIsOneFinding) {
  const std::uint64_t seen_by_both = launch(), seen_by_device = launch(0x500);
  const auto mistake = [this](std::uint64_t order, const char* function) {
    MadeFault f;
    fault(f, FaultKind::kOutOfBounds, order)
      .kernel(log().text(function))
      .function(log().text(function))
      .address(kA + 4000)
      .bytes(4)
      .space(FaultSpace::kGlobal)
      .access(FaultAccess::kStore);
    return f;
  };
  for (const std::uint64_t order : {seen_by_both, seen_by_device})
    add(mistake(order, "__gmt_checked__Z4fillPfi"));
  add(mistake(seen_by_both, "_Z4fillPfi"), trace::kFaultHasAddress | trace::kFaultChecked);
  run();
  ASSERT_EQ(result.findings.size(), 2u);
  for (const ReportedFinding& found : result.findings) {
    EXPECT_EQ(found.count, 1u);
    EXPECT_EQ(found.message.find("__gmt_"), std::string::npos);
    EXPECT_EQ(found.stacks[0].device->kernel, "fill(float*, int)");
    EXPECT_EQ(found.stacks[0].frames[0].function, "fill(float*, int)");
  }
}

} // namespace
} // namespace gmt::test
