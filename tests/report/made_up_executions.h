// SPDX-License-Identifier: Apache-2.0
// A made-up report of a process whose kernels ran on the simulated device: approximate
// instructions, launches that were stopped and skipped.
#pragma once

#include "tests/report/made_up_reports.h"

namespace gmt::test {

inline Executions executions() {
  using Feature = Executions::Feature;
  using enum Executions::Feature::Difference;
  Executions e;
  e.any = true;
  e.launches = 12;
  e.ran = 9;
  e.stopped = 1;
  e.skipped = 2;
  e.thread_instructions = 100'000;
  e.nanoseconds = 2'000'000;
  e.features = {
    Feature{.name = "atom.add.f32", .difference = kOrder, .instructions = 500, .launches = 2},
    Feature{.name = "ex2.f32", .difference = kLastBits, .instructions = 1500, .launches = 3},
    Feature{.name = "mul.f32 and add.f32", .difference = kJoined, .launches = 4}};
  e.left_out = {{.op = trace::ExecutionOp::kStopped,
                 .kernel = "wait_for(int*)",
                 .reason = "it ran for longer than --kernel-time allows (10 s)",
                 .instruction = "",
                 .line = "/src/wait.cu:7",
                 .launches = 1,
                 .as_asked = true},
                {.op = trace::ExecutionOp::kNotRun,
                 .kernel = "sample(float*)",
                 .reason = "tex.2d.v4.f32.f32 is not executed",
                 .instruction = "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}]",
                 .line = "/src/sample.cu:31",
                 .launches = 2}};
  return e;
}

inline Report on_simulated_device() {
  Report report = clean();
  report.processes[0].device = "simulated";
  report.processes[0].totals.launches = 12;
  report.processes[0].executions = executions();
  return report;
}

} // namespace gmt::test
