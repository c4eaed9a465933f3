// SPDX-License-Identifier: Apache-2.0
// Sums over the whole process: how far launches ran, which features they executed, which calls were
// refused. Each has one record, which is raised where it stands, so that it is right whatever
// moment the process dies at; and a new one when the log has begun another file. Of totals and
// features the last record counts, of refusals their sum. The device calls with its lock held, so
// one thread at a time.
#pragma once

#include "trace/execution_observer.h"

namespace gmt::interposer {

class ThreadLog;

void record_totals(ThreadLog& log, const trace::ExecutionTotals& totals) noexcept;
void record_refusal(ThreadLog& log, const trace::ExecutionRefusal& refusal) noexcept;
void forget_sums() noexcept; // a forked child's trace has none yet

} // namespace gmt::interposer
