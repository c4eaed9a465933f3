// SPDX-License-Identifier: Apache-2.0
// What the page shows of two runs beside each other.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "analyzer/report/report_diff.h"

namespace gmt::html {

struct ComparedRun {
  const Report& report;
  std::string name; // as the user wrote it
};

nlohmann::ordered_json compare_data(const ComparedRun& before, const ComparedRun& after,
                                    const ReportDiff& diff);

} // namespace gmt::html
