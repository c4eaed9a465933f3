// SPDX-License-Identifier: Apache-2.0
// Faults that the simulated device recorded in one kernel, fill(float*, int), and their findings.
#pragma once

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

using trace::FaultAccess;
using trace::FaultKind;
using trace::FaultSpace;
using MadeFault = Made<trace::FaultFields>;

inline constexpr std::uint64_t kFaulty = 0x900; // a function

class Faults : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.5";
    expect_only({"kernel-out-of-bounds", "kernel-use-after-free", "kernel-misaligned",
                 "kernel-uninitialized-read", "shared-race", "global-race", "barrier-divergence",
                 "kernel-hang", "kernel-assert", "kernel-fault"});
    log().name(kFaulty, "_Z4fillPfi");
    cuda_malloc(kA, 4000, 0x100);
  }
  std::uint64_t launch(std::uint64_t from = 0x400,
                       const std::vector<std::uint64_t>& pointers = {}) {
    const std::uint64_t order = trace.next_order();
    std::vector<std::uint64_t> words{kFaulty, 0, trace::pack_grid({4, 1, 1}),
                                     trace::pack_block_extents({256, 1, 1})};
    for (unsigned i = 0; i < pointers.size(); ++i)
      words.push_back(trace::argument_word(pointers[i], i));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {from},
                  .order = order,
                  .flags = trace::kLaunchScanned},
                 words);
    return order;
  }
  // What every fault here has.
  trace::FaultFields<PayloadWords>& fault(MadeFault& made, FaultKind kind, std::uint64_t order) {
    return made.fault(kind)
      .call(order)
      .kernel(log().text("_Z4fillPfi"))
      .function(log().text("_Z4fillPfi"))
      .lines(log().text("8\t\tsrc/fill.cu"))
      .count(1)
      .block_index({1, 0, 0})
      .thread_index({31, 2, 0});
  }
  void add(const MadeFault& made,
           unsigned flags = trace::kFaultHasThread | trace::kFaultHasAddress) {
    log().record({.flags = static_cast<std::uint16_t>(flags)}, made);
  }
  const ReportedFinding& only() {
    run();
    EXPECT_EQ(result.findings.size(), 1u);
    return result.findings.at(0);
  }
};

} // namespace gmt::test
