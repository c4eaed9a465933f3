// SPDX-License-Identifier: Apache-2.0
// Call stacks as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

// `depth`: frames of each stack, 0 all.
nlohmann::ordered_json stack_json(const CallStack& stack, const std::string& label, unsigned depth);

} // namespace gmt::json
