// SPDX-License-Identifier: Apache-2.0
// What the text report says of kernels on the simulated device: how many ran, and how true their
// results are.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/report/output_format.h"
#include "tests/report/made_up_executions.h"
#include "tests/unit/analyzer/report/text_of.h"

namespace gmt {
namespace {

using test::expect_contains;
using test::text_of;

std::string text_with(TableChoice tables, const Report& report) {
  OutputOptions options;
  options.tables = tables;
  return text_of(report, options);
}

TEST(TextKernels, CountsWhatAGpuMayComputeOtherwise) {
  const std::string text = text_of(test::on_simulated_device());
  expect_contains(text, "kernels ran on the processor (9 of 12 launches to the end; ");
  expect_contains(text, R"(
kernels, against a GPU's results                           launches   instructions of threads
  ex2.f32: a GPU's last bits may differ                           3                     1,500
  atom.add.f32: a GPU may add in another order                    2                       500
  mul.f32 and add.f32: a GPU may round once, as fma does          4                         -
  all other instructions: exact                                   9                    98,000
  stopped in the middle: its results are half written             1                         -
  not run: its results are missing                                2                         -
)");
}

TEST(TextKernels, SaysNothingWhereAllIsExact) {
  Report report = test::on_simulated_device();
  Executions& executions = *report.processes[0].executions;
  executions.features.clear();
  executions.left_out.clear();
  executions.launches = executions.ran = report.processes[0].totals.launches = 9;
  const std::string text = text_of(report);
  expect_contains(text, "kernels ran on the processor (9 launches)");
  EXPECT_EQ(text.find("against a GPU's results"), std::string::npos);
  expect_contains(text_with(TableChoice::kAll, report), "  exact ");
  EXPECT_EQ(text_with(TableChoice::kNone, test::on_simulated_device()).find("against a GPU's"),
            std::string::npos);
}

TEST(TextKernels, NamesTheSeedOfTheOrder) {
  Report report = test::on_simulated_device();
  EXPECT_EQ(text_of(report).find("--device-seed"), std::string::npos);
  report.processes[0].executions->seed = 7;
  EXPECT_NE(text_of(report).find("in the order of --device-seed 7"), std::string::npos);
}

TEST(TextKernels, AddsUpProcesses) {
  Report report = test::on_simulated_device();
  report.processes.push_back(report.processes[0]);
  const std::string text = text_of(report);
  expect_contains(text, "(18 of 24 launches to the end");
  expect_contains(text, "  ex2.f32: a GPU's last bits may differ                           6       "
                        "              3,000\n");
}

TEST(TextKernels, StoppedLaunchesAloneAreNoSkippedOnes) {
  Report report = test::on_simulated_device();
  Executions& executions = *report.processes[0].executions;
  executions.left_out.resize(1);
  executions.launches = report.processes[0].totals.launches = 1;
  executions.ran = 0;
  expect_contains(text_of(report), "(0 of 1 launch to the end");
  executions.left_out.clear();
  expect_contains(text_of(report), "kernels were not run (1 launch skipped)");
}

} // namespace
} // namespace gmt
