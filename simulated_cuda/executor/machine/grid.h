// SPDX-License-Identifier: Apache-2.0
// Runs a grid: blocks in order, a bounded number of them at a time, each until it is done or spins.
// So a block that waits for an earlier one finds it done or gets it a turn.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"

namespace gmt::executor {

class ReportSink;

// Fills in the handlers of all instructions. A form without one makes the program unsupported.
void bind(Program& program);

// The program is bound and supported. Reports go to `checks`.
Outcome run_grid(const Launch& launch, Program& program, ReportSink& checks, Observer& observer);

} // namespace gmt::executor
