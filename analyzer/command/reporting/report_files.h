// SPDX-License-Identifier: Apache-2.0
// The files of --format FORMAT=FILE. They are opened before the program starts, so that a wrong
// path costs no run, and written after the report proper. A file that cannot be written keeps no
// other from being written.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/command/console.h"
#include "analyzer/command/database/database_report.h"
#include "analyzer/command/options/options.h"
#include "analyzer/report/report.h"

namespace gmt {

class ReportFiles {
public:
  explicit ReportFiles(const Settings& settings);

  // Writes all of them and says where they are. Throws the first error at the end.
  void write(const Report& report) const;

private:
  DatabaseOptions database_options(const Report& report) const;

  const Settings& settings_;
  std::vector<std::unique_ptr<OutputFile>> files_; // one for each of settings_.format_files
};

} // namespace gmt
