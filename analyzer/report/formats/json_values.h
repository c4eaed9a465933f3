// SPDX-License-Identifier: Apache-2.0
// Parts of the JSON report. What is not known is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::json {

// `depth`: frames of each stack, 0 all. The finding's process is one of the report.
nlohmann::ordered_json finding_json(const ReportedFinding& finding, const Report& report,
                                    unsigned depth);

inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}
inline nlohmann::ordered_json count_or_null(std::uint64_t count) {
  return count == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(count);
}
template <class Number>
nlohmann::ordered_json number_or_null(const std::optional<Number>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

} // namespace gmt::json
