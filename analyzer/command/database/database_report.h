// SPDX-License-Identifier: Apache-2.0
// A report as a database of SQLite: every call, call stack, frame, allocation and finding, for
// those who want to query. docs/report-sqlite.md describes the tables.
#pragma once

#include <string>

#include "analyzer/analysis/time_window.h"
#include "analyzer/report/report.h"

namespace gmt {

inline constexpr std::string_view kDatabaseFormat = "sqlite";

struct DatabaseOptions {
  TimeSpan span;            // of the calls
  bool with_symbols = true; // else frames have modules and offsets only
  std::string json;         // the same report as JSON
};

// Reads the traces of the report once more. The file appears when it is complete. Throws UserError.
void write_database(const Report& report, const DatabaseOptions& options, const std::string& path);

bool is_database(const std::string& path);
// The JSON report that the database holds. Throws UserError if there is none.
std::string json_in_database(const std::string& path);

} // namespace gmt
