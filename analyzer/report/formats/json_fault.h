// SPDX-License-Identifier: Apache-2.0
// Where a kernel met a fault, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/model/finding.h"

namespace gmt::json {

nlohmann::ordered_json fault_json(const DeviceFault& fault);

} // namespace gmt::json
