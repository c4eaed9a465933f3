// SPDX-License-Identifier: Apache-2.0
// What the simulated device did with kernels, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

nlohmann::ordered_json executions_json(const Executions& executions);

} // namespace gmt::json
