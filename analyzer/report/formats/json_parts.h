// SPDX-License-Identifier: Apache-2.0
// The parts of the report for programs that have sources of their own, as JSON. docs/report-json.md
// documents every field.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

// The memory of a process: its tables, and what was held when an allocation failed. `depth`: frames
// of each stack, 0 all.
nlohmann::ordered_json memory_json(const MemoryTables& tables, unsigned depth);
nlohmann::ordered_json held_json(const HeldMemory& held);

// Memory accesses, which only --coalescing knows.
nlohmann::ordered_json access_json(const AccessFigures& figures);
nlohmann::ordered_json accesses_json(const AccessTables& tables);

// What the simulated device did with kernels.
nlohmann::ordered_json executions_json(const Executions& executions);

// Where a kernel met a fault.
nlohmann::ordered_json fault_json(const DeviceFault& fault);

} // namespace gmt::json
