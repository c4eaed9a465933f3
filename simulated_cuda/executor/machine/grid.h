// SPDX-License-Identifier: Apache-2.0
// Runs a grid on one or several workers: blocks start in order, a bounded number of them at a time.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"

namespace gmt::executor {

class ReportSinks;
class TrackedTwin;

// Fills in the handlers of all instructions. A form without one makes the program unsupported.
void bind(Program& program);

// The program is bound and supported. `twin` is the same with tracked registers.
Outcome run_grid(const Launch& launch, Program& program, TrackedTwin& twin, ReportSinks& sinks,
                 Observer& observer);

} // namespace gmt::executor
