// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/simulator_trouble.h"

#include "analyzer/base/text_format.h"
#include "trace/kernel_faults.h"

namespace gmt {

bool SimulatorTrouble::take(const Event& e, const ProcessFacts& facts) {
  if (e.kind == EventKind::kExecution) {
    if (what_.empty()) take_execution(e, facts);
    return true;
  }
  if (e.kind != EventKind::kFree) return false;
  if (e.succeeded()) has_released_ = true;
  return true;
}

void SimulatorTrouble::take_execution(const Event& e, const ProcessFacts& facts) {
  using trace::ExecutionOp;
  const event::Execution& view = e.execution();
  const auto op = static_cast<ExecutionOp>(view.op);
  const bool is_stopped = op == ExecutionOp::kStopped && !view.is_as_asked;
  if (op == ExecutionOp::kRefused)
    what_ = cat({"refused ", facts.text(view.function()), ", which it does not implement"});
  else if (op == ExecutionOp::kNotRun || is_stopped) what_ = "could not run a launch";
}

std::string SimulatorTrouble::why_given_up(const Ending& ending) const {
  if (what_.empty()) return {};
  const bool ended_well = ending.how == Ending::How::kExited && ending.status == 0;
  if (ended_well && has_released_) return {};
  return cat({"the simulated device ", what_, ", and the program may have given up"});
}

} // namespace gmt
