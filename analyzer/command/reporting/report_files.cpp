// SPDX-License-Identifier: Apache-2.0
// Files with further reports; see report_files.h.

#include "analyzer/command/reporting/report_files.h"

#include <unistd.h>

#include <optional>

#include "analyzer/base/user_error.h"
#include "analyzer/command/command.h"
#include "analyzer/command/report_options.h"

namespace gmt {

ReportFiles::ReportFiles(const Settings& settings) : settings_(settings) {
  for (const FormatFile& file : settings.format_files)
    files_.push_back(std::make_unique<OutputFile>(file.path, STDOUT_FILENO));
}

DatabaseOptions ReportFiles::database_options(const Report& report) const {
  Settings all = settings_;
  all.limit = 0;
  return {settings_.span, settings_.symbols, render_file(report, all, "json")};
}

void ReportFiles::write(const Report& report) const {
  std::optional<UserError> first;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto& [format, path] = settings_.format_files[i];
    try {
      if (format == kDatabaseFormat) write_database(report, database_options(report), path);
      else files_[i]->write(render_file(report, settings_, format));
      say(format + " report: " + path);
    } catch (const UserError& error) {
      if (!first) first = error;
    }
  }
  if (first) throw UserError(*first);
}

} // namespace gmt
