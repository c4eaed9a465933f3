// SPDX-License-Identifier: Apache-2.0
// How far kernels ran on the simulated device, and how true their results are to a GPU's, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

nlohmann::ordered_json kernels_json(const Executions& executions);

} // namespace gmt::json
