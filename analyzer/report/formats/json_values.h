// SPDX-License-Identifier: Apache-2.0
// Values of the JSON report that several of its parts write.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace gmt::json {

// What is unknown is an empty text, and null in JSON.
inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

} // namespace gmt::json
