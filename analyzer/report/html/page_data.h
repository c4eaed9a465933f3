// SPDX-License-Identifier: Apache-2.0
// What the page needs beside the JSON report: the history of memory of each process, the frames of
// its call stacks, each once, the lines of source around the frames of findings, and what several
// processes of one run have alike.
#pragma once

#include <cstddef>

#include <nlohmann/json.hpp>

#include "analyzer/report/report.h"

namespace gmt::html {

// Of the report's findings the page has the first `most_findings`.
nlohmann::ordered_json page_data(const Report& report, std::size_t most_findings,
                                 const std::string& source_root);

} // namespace gmt::html
