// SPDX-License-Identifier: Apache-2.0
// Accesses of global memory: what is found, what must not be, and which cause the figures leave.

#include "tests/unit/analyzer/support/access_fixture.h"

namespace gmt::test {
namespace {

class UncoalescedTest : public AccessTest {
protected:
  // One kernel with one access, whose figures are given for one execution by a warp.
  std::string verdict(const Access& a) {
    access = {};
    access.windows({});
    function("_Z4stepPf");
    add(a);
    run_access();
    const ReportedFinding* f = find("uncoalesced");
    if (f == nullptr) return "";
    return (f->severity == Severity::kNote ? "note " : "warning ") + f->access->brief;
  }
};

// The figures measured on an H200, driver 580.
TEST_F(UncoalescedTest, MeasuredKernels) {
  const auto totals = [](std::uint64_t sectors, std::uint64_t ideal) {
    const std::uint64_t warps = ideal / 4;
    return Access{.sectors = static_cast<double>(sectors) / static_cast<double>(warps),
                  .ideal = 4,
                  .executions = warps};
  };
  EXPECT_EQ(verdict(totals(524288, 524288)), ""); // coalesced
  // stride 32
  EXPECT_EQ(verdict(totals(4194304, 524288)), "warning stride of 8 or more, or no order");
  EXPECT_EQ(verdict(totals(655359, 524288)), "note misaligned"); // offset by one
}

TEST_F(UncoalescedTest, Strides) {
  for (const std::uint32_t k : {2u, 3u, 4u, 5u, 6u, 7u}) {
    const std::string expected =
      (k > 2 ? "warning stride of " : "note stride of ") + std::to_string(k);
    EXPECT_EQ(verdict({.sectors = 4.0 * k, .ideal = 4}), expected);
  }
  EXPECT_EQ(verdict({.width = 2, .sectors = 12, .ideal = 2}), "warning stride of 6");
  EXPECT_EQ(verdict({.width = 8, .sectors = 24, .ideal = 8}), "warning stride of 3");
  EXPECT_EQ(verdict({.width = 8, .sectors = 32, .ideal = 8}),
            "warning stride of 4 or more, or no order");
  EXPECT_EQ(verdict({.width = 16, .sectors = 32, .ideal = 16}),
            "note stride of 2 or more, or no order");
  EXPECT_EQ(verdict({.width = 1, .sectors = 32, .ideal = 1}),
            "warning stride of 32 or more, or no order");
  // And its base off a sector
  EXPECT_EQ(verdict({.sectors = 13, .ideal = 4}), "warning stride of 3");
}

TEST_F(UncoalescedTest, MisalignedBases) {
  EXPECT_EQ(verdict({.sectors = 5, .ideal = 4}), "note misaligned");
  EXPECT_EQ(verdict({.width = 2, .sectors = 3, .ideal = 2}), "note misaligned");
  EXPECT_EQ(verdict({.width = 8, .sectors = 10, .ideal = 8}), "note misaligned");
  EXPECT_EQ(verdict({.width = 8, .sectors = 9, .ideal = 8}), "");    // 1.13 is below the threshold
  EXPECT_EQ(verdict({.width = 16, .sectors = 17, .ideal = 16}), ""); // 1.06
  EXPECT_EQ(verdict({.width = 16, .sectors = 20, .ideal = 16}), "note misaligned");
  // One byte each: two sectors may be either, which the words say.
  EXPECT_EQ(verdict({.width = 1, .sectors = 2, .ideal = 1}), "note stride of 2, or misaligned");
  EXPECT_NE(find("uncoalesced")->message.find("or neighbouring ones from a base off a sector"),
            std::string::npos);
  EXPECT_NE(find("uncoalesced")->advice.find("and each warp begin at a multiple of 32 bytes"),
            std::string::npos);
}

TEST_F(UncoalescedTest, Scattered) {
  EXPECT_EQ(verdict({.sectors = 30.6, .ideal = 4}), "warning scattered"); // random in a small array
  EXPECT_EQ(verdict({.sectors = 10.5, .ideal = 4}), "warning scattered");
  EXPECT_EQ(verdict({.sectors = 31.99, .ideal = 4}),
            "warning stride of 8 or more, or no order"); // random in a large one: not distinguished
  EXPECT_NE(find("uncoalesced")->message.find("or no order at all"), std::string::npos);
}

TEST_F(UncoalescedTest, BroadcastsAreSilent) {
  EXPECT_EQ(verdict({.sectors = 1, .ideal = 4}), "");
  EXPECT_EQ(verdict({.sectors = 1, .ideal = 1}), "");
}

TEST_F(UncoalescedTest, WideAccessesAreSilent) {
  EXPECT_EQ(verdict({.width = 8, .sectors = 8, .ideal = 8}), "");
  EXPECT_EQ(verdict({.width = 16, .sectors = 16, .ideal = 16}), "");
}

TEST_F(UncoalescedTest, PartialWarpsAreCheckedByWhatAWholeOneWouldTake) {
  // Every second thread of a line
  EXPECT_EQ(verdict({.sectors = 4, .ideal = 2, .threads = 16}), "");
  EXPECT_EQ(verdict({.sectors = 4, .ideal = 0.5, .threads = 4}), "");   // four threads far apart
  EXPECT_EQ(verdict({.sectors = 1, .ideal = 0.125, .threads = 1}), ""); // one thread
  EXPECT_EQ(verdict({.sectors = 4, .ideal = 2, .bytes = 64}), ""); // every second predicate is off
  // No formula for the cause
  EXPECT_EQ(verdict({.sectors = 24, .ideal = 3, .threads = 24}), "warning ");
  EXPECT_EQ(verdict({.sectors = 32, .ideal = 4, .threads = 31.9}),
            "warning stride of 8 or more, or no order"); // a last warp
  EXPECT_EQ(verdict({.width = 0, .sectors = 12, .ideal = 2, .threads = 16}),
            ""); // not even the width is known
}

TEST_F(UncoalescedTest, NoIdealNoVerdict) {
  EXPECT_EQ(verdict({.sectors = 32, .ideal = 0}), "");
  access = {};
  access.windows({});
  access.function("_Z4stepPf");
  access.instruction(
    16,
    {.executions = 1 << 20, .threads = 1 << 25, .sectors = 1 << 25, .ideal = trace::kUnknownCount});
  run_access();
  EXPECT_EQ(find("uncoalesced"), nullptr);
  EXPECT_TRUE(is_not_checked("uncoalesced", "does not count sectors"));
}

TEST_F(UncoalescedTest, LittleWasteIsSilent) {
  const std::uint64_t just = (1 << 20) / 32 / 28; // executions that waste just less than 1 MiB
  EXPECT_EQ(verdict({.sectors = 32, .ideal = 4, .executions = just}), "");
  EXPECT_NE(verdict({.sectors = 32, .ideal = 4, .executions = just + 1}), "");
  floor = 0;
  EXPECT_NE(verdict({.sectors = 32, .ideal = 4, .executions = 1}), "");
}

TEST_F(UncoalescedTest, SeveralPartsOfOneObjectAreAnArrayOfStructs) {
  access.windows({});
  function("_Z4stepPf");
  for (std::int32_t member = 0; member < 3; ++member) {
    add({.line = 10 + static_cast<std::uint32_t>(member),
         .sectors = 12,
         .ideal = 4,
         .address_register = 2,
         .address_offset = 4 * member});
  }
  run_access();
  EXPECT_EQ(kinds(), "uncoalesced uncoalesced uncoalesced");
  EXPECT_EQ(find("uncoalesced")->access->brief, "structs of 12 bytes");
  EXPECT_NE(find("uncoalesced")->advice.find("struct of arrays"), std::string::npos);
}

TEST_F(UncoalescedTest, LargeStructsAreAtLeastASector) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 32, .ideal = 4, .address_register = 2, .address_offset = 0});
  add({.line = 11, .sectors = 32, .ideal = 4, .address_register = 2, .address_offset = 44});
  add(
    // Another pointer
    {.line = 12, .sectors = 32, .ideal = 4, .address_register = 3, .address_offset = 8});
  run_access();
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_EQ(result.findings[0].access->brief, "structs of 48 bytes or more");
  EXPECT_EQ(result.findings[2].access->brief, "stride of 8 or more, or no order");
}

TEST_F(UncoalescedTest, ElementsOfAnUnrolledLoopAreNoStruct) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 32, .ideal = 4, .address_register = 2, .address_offset = 0});
  add({.sectors = 32, .ideal = 4, .address_register = 2, .address_offset = 4096});
  run_access();
  ASSERT_EQ(kinds(), "uncoalesced"); // one line
  EXPECT_EQ(cause(), "far-apart");
  EXPECT_EQ(find("uncoalesced")->access->executions, 2 * kWarps);
}

TEST_F(UncoalescedTest, TheCoalescedSideOfALineRevealsATranspose) {
  access.windows({});
  function("_Z4stepPf");
  add({.op = MemoryOp::kLoad, .sectors = 4, .ideal = 4});
  add({.op = MemoryOp::kStore, .sectors = 32, .ideal = 4});
  // Another line has no such side
  add({.op = MemoryOp::kStore, .line = 11, .sectors = 32, .ideal = 4});
  run_access();
  ASSERT_EQ(kinds(), "uncoalesced uncoalesced");
  EXPECT_EQ(result.findings[0].access->cause, "transposed");
  EXPECT_EQ(result.findings[0].access->operation, AccessOperation::kStore);
  EXPECT_EQ(result.findings[1].access->cause, "far-apart");
}

TEST_F(UncoalescedTest, ABroadcastIsNoCoalescedSide) {
  access.windows({});
  function("_Z4stepPf");
  add({.op = MemoryOp::kLoad, .sectors = 1, .ideal = 4});
  add({.op = MemoryOp::kStore, .sectors = 32, .ideal = 4});
  run_access();
  EXPECT_EQ(cause(), "far-apart");
}

TEST_F(UncoalescedTest, AtomicsHaveTheirOwnWords) {
  access.windows({});
  function("_Z4stepPf");
  add({.op = MemoryOp::kReduction, .sectors = 32, .ideal = 4});
  run_access();
  EXPECT_EQ(cause(), "");
  const ReportedFinding& f = *find("uncoalesced");
  EXPECT_NE(f.message.find("4-byte atomics in step at step.cu:10"), std::string::npos) << f.message;
  EXPECT_NE(f.advice.find("Add up within the warp"), std::string::npos);
}

TEST_F(UncoalescedTest, TheWholeSentence) {
  access.windows({});
  function("_Z4stepPf", 16353, 12);
  add({.sectors = 32, .ideal = 4, .executions = 3 << 10});
  add({.line = 20, .sectors = 4, .ideal = 4, .executions = 3 << 10});
  name(kKernel, "_Z4stepPf");
  launch(kKernel, {}, 0x444);
  run_access();
  const ReportedFinding& f = *find("uncoalesced");
  EXPECT_EQ(
    f.message,
    "4-byte loads in step at step.cu:10 move 8.0 times the sectors that their data fills, 32.0 a "
    "request instead of 4.0 (measured in 12 of 16,353 launches), which wastes 3.5 GiB in all launches, "
    "78 % of what the run's kernels moved: neighbouring threads are at least 32 bytes apart, a stride "
    "of at least 8 elements, or no order at all, so that each takes a sector of its own.");
  EXPECT_EQ(f.bytes, 28 * 3 * 1024 * 32 * 16353ull / 12);
  EXPECT_EQ(labels(f), "accessed here|first launched here");
  EXPECT_EQ(f.stacks[0].frames.at(0).line, 10u);
  EXPECT_EQ(f.stacks[0].frames.at(0).function, "step(float*)");
  EXPECT_EQ(address_of(f.stacks[1]), 0x444u);
}

TEST_F(UncoalescedTest, InlinedFunctionsAreTheStack) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 32, .ideal = 4});
  code_now().instructions[0].lines = {{"_Z4loadPf", "/src/load.h", 3},
                                      {"_Z4stepPf", "/src/step.cu", 40}};
  run_access();
  const LabelledStack& stack = find("uncoalesced")->stacks.at(0);
  ASSERT_EQ(stack.frames.size(), 2u);
  EXPECT_EQ(stack.frames[0].function, "load(float*)");
  EXPECT_TRUE(stack.frames[0].inlined);
  EXPECT_EQ(stack.frames[1].line, 40u);
  EXPECT_FALSE(stack.frames[1].inlined);
  EXPECT_EQ(find("uncoalesced")->access->line, 3u);
}

TEST_F(UncoalescedTest, WithoutLinesTheOffsetAndTheFlag) {
  access.windows({});
  function("_Z4stepPf");
  code_now().has_lines = false;
  add({.line = 0, .sectors = 32, .ideal = 4});
  add({.line = 0, .sectors = 32, .ideal = 4});
  run_access();
  EXPECT_EQ(kinds(), "uncoalesced uncoalesced"); // each for itself
  EXPECT_NE(find("uncoalesced")->message.find("in step at offset 0x10"), std::string::npos);
  EXPECT_NE(find("uncoalesced")->advice.find("-lineinfo"), std::string::npos);
}

TEST_F(UncoalescedTest, WithoutCodeTheWidthIsThatOfTheBytes) {
  access.windows({});
  access.function("_Z4stepPf");
  access.instruction(0x120, {.executions = 1 << 20,
                             .threads = 1 << 25,
                             .sectors = 1 << 25,
                             .ideal = 1 << 22,
                             .bytes = 1 << 27});
  run_access(false);
  const ReportedFinding& f = *find("uncoalesced");
  EXPECT_EQ(f.access->width, 4u);
  EXPECT_EQ(f.access->operation, AccessOperation::kUnknown);
  EXPECT_EQ(f.access->cause, "far-apart");
  EXPECT_NE(f.advice.find("code was not found"), std::string::npos);
  EXPECT_TRUE(is_not_checked("memory accesses", "the code of step(float*) was not found"));
}

TEST_F(UncoalescedTest, DeviceFunctionsAreNoKernels) {
  access.windows({});
  function("_Z4loadPf", 0, 0);
  add({.sectors = 32, .ideal = 4});
  run_access();
  const ReportedFinding& f = *find("uncoalesced");
  EXPECT_NE(f.message.find("in the device function load at"), std::string::npos) << f.message;
  EXPECT_FALSE(f.access->is_kernel);
  EXPECT_EQ(f.bytes, 28 * kWarps * 32); // as it was measured
}

TEST_F(UncoalescedTest, ContextsAreAddedUpAndCubinsAreNot) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 32, .ideal = 4});
  AccessLogWriter second;
  second.windows({});
  second.function("_Z4stepPf", 3, 1);
  second.instruction(
    16,
    {.executions = kWarps, .threads = 32 * kWarps, .sectors = 32 * kWarps, .ideal = 4 * kWarps});
  second.function("_Z4stepPf", 1, 1, 0x9999); // of another cubin
  second.instruction(
    16,
    {.executions = kWarps, .threads = 32 * kWarps, .sectors = 32 * kWarps, .ideal = 4 * kWarps});
  std::filesystem::create_directories(directory.path() / "trace");
  second.write(directory.path() / "trace", "access-1");
  run_access();
  ASSERT_EQ(kinds(), "uncoalesced uncoalesced");
  const AccessFigures& both = *result.findings[0].access;
  EXPECT_EQ(both.executions, 2 * kWarps);
  EXPECT_EQ(both.launches, 5u); // which all of that name share
  EXPECT_EQ(both.measured, 3u);
  EXPECT_EQ(result.findings[1].access->executions, kWarps);
}

TEST_F(UncoalescedTest, LaunchesOfContextsThatMeasuredNothingCount) {
  access.windows({});
  function("_Z4stepPf", 5, 1);
  add({.sectors = 32, .ideal = 4});
  // Other code of that name, which has no count of its own
  access.function("_Z4stepPf", 0, 0, 0x9999);
  access.instruction(
    16,
    {.executions = kWarps, .threads = 32 * kWarps, .sectors = 32 * kWarps, .ideal = 4 * kWarps});
  AccessLogWriter second;
  second.windows({});
  second.function("_Z4stepPf", 15, 0, 0);
  std::filesystem::create_directories(directory.path() / "trace");
  second.write(directory.path() / "trace", "access-1");
  run_access();
  ASSERT_EQ(kinds(), "uncoalesced uncoalesced");
  for (const ReportedFinding& f : result.findings) {
    EXPECT_TRUE(f.access->is_kernel);
    EXPECT_EQ(f.access->launches, 20u);
    EXPECT_EQ(f.access->measured, 1u);
    EXPECT_EQ(f.bytes, 28 * kWarps * 32 * 20);
  }
  EXPECT_EQ(result.process.accesses->kernels.size(), 2u);
  EXPECT_EQ(result.process.accesses->launches, 20u);
  EXPECT_EQ(result.process.accesses->measured, 1u);
}

} // namespace
} // namespace gmt::test
