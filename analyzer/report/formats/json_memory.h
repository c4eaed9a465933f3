// SPDX-License-Identifier: Apache-2.0
// The memory of a process as JSON: its tables, and what was held when an allocation failed.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

// `depth`: frames of each stack, 0 all.
nlohmann::ordered_json memory_json(const MemoryTables& tables, unsigned depth);
nlohmann::ordered_json held_json(const HeldMemory& held);

} // namespace gmt::json
