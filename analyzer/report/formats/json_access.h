// SPDX-License-Identifier: Apache-2.0
// Memory accesses as JSON: the part of the report for programs that only --coalescing fills.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

nlohmann::ordered_json access_json(const AccessFigures& figures);
nlohmann::ordered_json accesses_json(const AccessTables& tables);

} // namespace gmt::json
