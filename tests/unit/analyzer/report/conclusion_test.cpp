// SPDX-License-Identifier: Apache-2.0
// Whether a run passed, why it did not, and what became of its launches.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/conclusion.h"
#include "tests/report/made_up_executions.h"
#include "tests/unit/analyzer/report/text_of.h"

namespace gmt {
namespace {

using Reason = Failure::Reason;
using test::last_line;
using test::written;

std::string reasons_of(const Conclusion& conclusion) {
  std::string text;
  for (const Failure& failure : conclusion.failures)
    text += (text.empty() ? "" : " ") + std::string(id_of(failure.reason));
  return text;
}

Ending exited(int status) { return {.how = Ending::How::kExited, .status = status}; }
Ending killed(int signal) { return {.how = Ending::How::kSignalled, .signal = signal}; }

TEST(AConclusion, PassesWhereNothingIsWrong) {
  const Conclusion conclusion = conclude(test::clean(), {});
  EXPECT_TRUE(conclusion.passed());
  EXPECT_FALSE(conclusion.launches);
}

TEST(AConclusion, NamesTheEndOfTheProgramLast) {
  const Report report = test::ordinary();
  EXPECT_EQ(reasons_of(conclude(report, {.program = killed(6)})), "findings program");
  EXPECT_EQ(conclude(report, {.program = killed(6)}).signal, 6);
  EXPECT_EQ(conclude(report, {.program = exited(3)}).failures.back().sentence,
            "the program ended with exit status 3");
}

// Where the program itself left no trace, the first process is a child of it.
TEST(AConclusion, TheProgramIsNotItsFirstChild) {
  EXPECT_EQ(reasons_of(conclude(test::crashed(), {})), "program");
  EXPECT_EQ(reasons_of(conclude(test::crashed(), {.program = exited(0)})), "");
}

TEST(AConclusion, AnUncheckedProgramIsNoneWithoutCalls) {
  const std::string sentence = "no NVIDIA driver on this machine: nothing was checked";
  Report report = test::nothing_seen();
  report.conclusion = conclude(report, {.unchecked = sentence});
  EXPECT_EQ(reasons_of(report.conclusion), "unchecked");
  const std::string text = written("text", report);
  EXPECT_EQ(last_line(text),
            "SUMMARY: gpumemtrace: nothing was checked: no NVIDIA driver on this machine");
  EXPECT_EQ(text.find("nothing was checked: no CUDA call was seen"), std::string::npos);
  EXPECT_EQ(written("junit", report).find("no CUDA call"), std::string::npos);
}

TEST(AConclusion, WhatIsMissingFromTheTraceFails) {
  Report report = test::clean();
  report.processes[0].missing = "the trace lacks the log t1-0.0.log";
  report.conclusion = conclude(report, {});
  EXPECT_EQ(reasons_of(report.conclusion), "incomplete");
  EXPECT_EQ(last_line(written("text", report)),
            "SUMMARY: gpumemtrace: no errors; a part of the run was not checked");
}

TEST(AConclusion, FindingsFailFromTheAskedSeverityOn) {
  Report report = test::clean();
  report.findings = {test::out_of_memory()}; // a warning
  EXPECT_TRUE(conclude(report, {}).passed());
  EXPECT_EQ(reasons_of(conclude(report, {.fail_on = Severity::kWarning})), "findings");
  EXPECT_TRUE(conclude(report, {.fail_on = Severity::kWarning, .accepts_findings = true}).passed());
  report.findings[0].baseline = BaselineState::kKnown;
  EXPECT_TRUE(conclude(report, {.fail_on = Severity::kWarning}).passed());
}

TEST(AConclusion, LaunchesThatCouldNotRunFail) {
  Report report = test::on_simulated_device();
  report.conclusion = conclude(report, {});
  EXPECT_EQ(reasons_of(report.conclusion), "unrun-kernels");
  const LaunchCounts& launches = *report.conclusion.launches;
  EXPECT_EQ(launches.all, 12u);
  EXPECT_EQ(launches.ran, 9u);
  EXPECT_EQ(launches.unable, 2u);
  EXPECT_EQ(launches.left_out, 1u);
  EXPECT_EQ(launches.unknown(), 0u);
  EXPECT_EQ(last_line(written("text", report)),
            "SUMMARY: gpumemtrace: no errors; 2 of 12 launches did not run, 1 was left out");
  EXPECT_TRUE(conclude(report, {.accepts_unrun = true}).passed());
}

TEST(AConclusion, LaunchesThatTheUserLeftOutDoNotFail) {
  Report report = test::on_simulated_device();
  std::erase_if(report.processes[0].executions->left_out,
                [](const Executions::LeftOut& one) { return !one.as_asked; });
  EXPECT_TRUE(conclude(report, {}).passed());
}

TEST(AConclusion, SaysWhatBecameOfLaunchesWhereTheProcessDied) {
  Report report = test::on_simulated_device();
  Executions& executions = *report.processes[0].executions;
  executions.left_out.clear();
  executions.launches = executions.ran = report.processes[0].totals.launches = 9;
  report.processes[0].totals.unfinished_launches = 1;
  const std::string text = test::text_of(report);
  EXPECT_NE(text.find("(9 of 10 launches to the end; one\n  was running"), std::string::npos)
    << text;
  report.processes[0].totals.launches = 11; // of two more there is no word
  EXPECT_NE(test::text_of(report).find("of 2 the record is lost"), std::string::npos);
}

TEST(AConclusion, TheLimitOfARunIsNoFailureOfTheProgram) {
  Report report = test::clean();
  report.processes[0].ended = {.how = Ending::How::kExited, .status = 24, .at_run_limit = true};
  const Conclusion conclusion = conclude(report, {.program = exited(24)});
  EXPECT_EQ(reasons_of(conclusion), "run-time");
  EXPECT_EQ(conclusion.failures[0].brief, "ended at the limit of --run-time (exit status 24)");
}

} // namespace
} // namespace gmt
