// SPDX-License-Identifier: Apache-2.0
// Calls that the simulated device does not implement, and launches that it could not run: what of
// it is no mistake of the program.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::ExecutionOp;
using MadeExecution = Made<trace::ExecutionFields>;

class RefusedCalls : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.4"; // texts take orders here, which later formats would miss
    trace.info.push_back("device=simulated");
    expect_only({"api-error", "leak", "object-leak", "device-heap-leak"});
  }
  void note(const Call& call) { log().record(Kind::kNote, call, {0, 0, 0, 0}); }
  void refuse(const std::string& function, const std::string& what = "", std::uint64_t calls = 1) {
    MadeExecution made;
    made.op(ExecutionOp::kRefused).function(log().text(function)).calls(calls);
    if (!what.empty()) made.reason(log().text(what));
    log().record({}, made);
  }
  void leave_out(ExecutionOp op, std::uint16_t flags = 0) {
    MadeExecution made;
    made.op(op).kernel(log().text("_Z4fillPfi")).reason(log().text("why"));
    log().record({.flags = flags}, made);
  }
  void exit_with(int status) {
    trace.complete = "how=exited\nstatus=" + std::to_string(status) + "\nsignal=0\ncore=0\n";
  }
};

TEST_F(RefusedCalls, AreNotesThatNameTheDevice) {
  for (int i = 0; i < 2; ++i)
    note({.api = "cuGreenCtxCreate", .via = "cudaGreenCtxCreate", .result = 801, .stack = {5}});
  refuse("cuGreenCtxCreate", "", 2);
  run();
  ASSERT_EQ(kinds(), "api-error");
  const ReportedFinding& finding = result.findings[0];
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.count, 2u);
  EXPECT_EQ(finding.message, "cudaGreenCtxCreate failed with cudaErrorNotSupported (801), as the "
                             "simulated device does not implement it.");
  EXPECT_FALSE(is_not_checked("cuGreenCtxCreate"));
}

TEST_F(RefusedCalls, ARefusalThatADriverGivesToIsAnErrorOfTheCall) {
  note({.api = "cuGraphInstantiateWithFlags", .result = 801, .stack = {5}});
  run();
  ASSERT_EQ(kinds(), "api-error");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(result.findings[0].message.find("simulated"), std::string::npos);
}

TEST_F(RefusedCalls, WithoutARecordOfTheirOwnAreNotChecked) {
  refuse("cudaGraphConditionalHandleCreate", "", 3);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("cudaGraphConditionalHandleCreate", "refused 3 calls with"));
}

TEST_F(RefusedCalls, WhatTheProgramLeavesWhenItGivesUpIsNoLeak) {
  cuda_malloc(kA, kMiB);
  refuse("cuGraphConditionalHandleCreate");
  exit_with(0);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("leak", "refused cuGraphConditionalHandleCreate, which it does not"));
}

TEST_F(RefusedCalls, ObjectsThatTheProgramLeavesThenAreNoLeakEither) {
  for (std::uint64_t i = 0; i < 2000; ++i)
    log().life({.api = "cuEventCreate", .stack = {1}}, 0x1000 + i, trace::ObjectClass::kEvent,
               trace::LifeOp::kCreate);
  refuse("cuGraphConditionalHandleCreate");
  exit_with(1);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("object-leak", "refused cuGraphConditionalHandleCreate"));
}

TEST_F(RefusedCalls, AProgramThatGoesOnHasItsLeaks) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  refuse("cuGraphConditionalHandleCreate");
  cuda_free(kB);
  exit_with(0);
  run();
  EXPECT_EQ(kinds(), "leak");
}

TEST_F(RefusedCalls, AStatusOfItsOwnSaysThatItGaveUp) {
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  leave_out(ExecutionOp::kNotRun);
  cuda_free(kB);
  exit_with(1);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("leak", "the simulated device could not run a launch"));
}

TEST_F(RefusedCalls, LaunchesThatTheUserLeftOutExcuseNothing) {
  cuda_malloc(kA, kMiB);
  leave_out(ExecutionOp::kNotSelected);
  leave_out(ExecutionOp::kStopped, trace::kExecutionAsAsked);
  exit_with(1);
  run();
  EXPECT_EQ(kinds(), "leak");
}

} // namespace
} // namespace gmt::test
