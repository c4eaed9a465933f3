// SPDX-License-Identifier: Apache-2.0
// What is not known is null in JSON.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace gmt::json {

inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}
inline nlohmann::ordered_json count_or_null(std::uint64_t count) {
  return count == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(count);
}

} // namespace gmt::json
