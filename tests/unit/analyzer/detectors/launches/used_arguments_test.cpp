// SPDX-License-Identifier: Apache-2.0
// Freed memory that a launch is given where uses are seen: one finding, that of the access where
// the kernel uses the memory, else that of the argument.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::FaultKind;

constexpr std::uint64_t kFill = 0x900, kFields = 0x910; // functions

class UsedArguments : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"use-after-free", "kernel-use-after-free"});
    trace.format = "1.5";
    trace.info.push_back("device=simulated");
    log().record({}, Made<trace::KernelFields>().function(kFill).parameter_count(2),
                 {trace::pack_halves({0, 8}), trace::pack_halves({8, 8})});
    log().name(kFill, "_Z4fillPfS_");
    log().record({}, Made<trace::KernelFields>().function(kFields).parameter_count(1),
                 {trace::pack_halves({0, 16})});
    log().name(kFields, "_Z6fields4Pair");
    for (const std::uint64_t block : {kA, kB}) {
      cuda_malloc(block, 4096, 0x100);
      cuda_free(block, 0, 0x200);
    }
  }
  // Returns the order of its record.
  std::uint64_t launch(std::uint64_t first, std::uint64_t second = 0) {
    const std::uint64_t order = trace.next_order();
    std::vector<std::uint64_t> words{kFill, 0, 1, 1, trace::argument_word(first, 0)};
    if (second != 0) words.push_back(trace::argument_word(second, 1));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {0x400},
                  .order = order,
                  .flags = trace::kLaunchScanned},
                 words);
    return order;
  }
  // fields(Pair): one parameter of 16 bytes.
  std::uint64_t launch_fields(std::uint64_t first, std::uint64_t second) {
    const std::uint64_t order = trace.next_order();
    log().record(
      Kind::kLaunch,
      {.api = "cuLaunchKernel",
       .via = "cudaLaunchKernel",
       .stack = {0x400},
       .order = order,
       .flags = trace::kLaunchScanned},
      {kFields, 0, 1, 1, trace::argument_word(first, 0), trace::argument_word(second, 0)});
    return order;
  }
  void executed(trace::ExecutionOp op, std::uint64_t launch = 0) {
    log().record({}, Made<trace::ExecutionFields>().op(op).call(launch));
  }
  void access(std::uint64_t launch, std::uint64_t address,
              FaultKind kind = FaultKind::kUseAfterFree,
              trace::FaultSpace space = trace::FaultSpace::kGlobal) {
    log().record({.flags = trace::kFaultHasAddress}, Made<trace::FaultFields>()
                                                       .fault(kind)
                                                       .call(launch)
                                                       .address(address)
                                                       .bytes(4)
                                                       .space(space)
                                                       .access(trace::FaultAccess::kStore)
                                                       .kernel(log().text("_Z4fillPfS_"))
                                                       .count(1));
  }
  const ReportedFinding& argument() {
    const ReportedFinding* found = find("use-after-free");
    if (found == nullptr) throw std::runtime_error("no use-after-free");
    return *found;
  }
};

TEST_F(UsedArguments, AccessStandsForTheArgument) {
  access(launch(kA), kA + 64);
  run();
  ASSERT_EQ(kinds(), "kernel-use-after-free");
  EXPECT_EQ(labels(result.findings[0]), "accessed here|launched here|freed here|allocated here");
}

TEST_F(UsedArguments, ArgumentThatIsNotUsedIsReported) {
  launch(kA);
  run();
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_EQ(labels(argument()), "launched here|freed here|allocated here");
  EXPECT_EQ(argument().count, 1u);
}

// On a GPU, whose launches run plain where a check is not there.
TEST_F(UsedArguments, ChecksInTheCodeSeeTheAccess) {
  std::erase(trace.info, "device=simulated");
  trace.info.push_back("option.kernel_checks=1");
  access(launch(kA), kA + 64);
  launch(kB);
  run();
  ASSERT_EQ(kinds(), "kernel-use-after-free use-after-free");
  EXPECT_EQ(argument().count, 1u);
}

TEST_F(UsedArguments, OnlyTheUsedOneOfTwo) {
  access(launch(kA, kB), kB);
  run();
  ASSERT_EQ(kinds(), "kernel-use-after-free use-after-free");
  EXPECT_NE(argument().message.find("as parameter 1"), std::string::npos) << argument().message;
}

TEST_F(UsedArguments, BothPointIntoTheUsedBlock) {
  access(launch(kA, kA + 1024), kA);
  run();
  EXPECT_EQ(kinds(), "kernel-use-after-free");
}

TEST_F(UsedArguments, OtherLaunchesStayCounted) {
  access(launch(kA), kA);
  launch(kA);
  launch(kA);
  run();
  ASSERT_EQ(kinds(), "kernel-use-after-free use-after-free");
  EXPECT_EQ(argument().count, 2u);
}

TEST_F(UsedArguments, OtherFaultsOfTheLaunchSayNothingAboutIt) {
  const std::uint64_t order = launch(kA);
  access(order, kA, FaultKind::kUseAfterFree, trace::FaultSpace::kShared);
  access(order, kC, FaultKind::kOutOfBounds);
  access(order + 100, kA); // of an unknown launch
  run();
  EXPECT_NE(find("use-after-free"), nullptr);
}

TEST_F(UsedArguments, OneReportOfManyThreadsIsEnough) {
  const std::uint64_t order = launch(kA);
  for (int i = 0; i < 3; ++i) access(order, kA + 4);
  run();
  EXPECT_EQ(kinds(), "kernel-use-after-free");
}

// What a field holds is a mistake only if the kernel uses it, and the device would have seen that.
TEST_F(UsedArguments, UnusedFieldIsNoFinding) {
  launch_fields(kA, kB);
  executed(trace::ExecutionOp::kTotals);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(UsedArguments, FieldIsAWarningWhereNothingRan) {
  launch_fields(kA, kB);
  run(); // nothing is known of the run, as of a process that was killed
  ASSERT_EQ(kinds(), "use-after-free");
  EXPECT_EQ(argument().severity, Severity::kWarning);
  const std::uint64_t left_out = launch_fields(kA, kB);
  executed(trace::ExecutionOp::kNotRun, left_out);
  executed(trace::ExecutionOp::kTotals);
  run();
  EXPECT_EQ(kinds(), "use-after-free");
}

} // namespace
} // namespace gmt::test
