// SPDX-License-Identifier: Apache-2.0
// What --format takes: the form of the report, and files with further ones. See option_values.h.

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/base/user_error.h"
#include "analyzer/command/database/database_report.h"
#include "analyzer/command/options/option_values.h"
#include "analyzer/command/options/wrong_value.h"
#include "analyzer/report/output_format.h"

namespace gmt {

namespace {

// Of the commands that write only some.
std::vector<std::string> formats_of(CommandId command) {
  if (command == CommandId::kTop) return {"text", "json", "prometheus"};
  if (command == CommandId::kDiff) return {"text", "html"};
  if (command == CommandId::kDump) return {"text", "jsonl"};
  std::vector<std::string> formats;
  for (const OutputInfo* output : outputs()) formats.emplace_back(output->id);
  return formats;
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

void add_file(const std::string& value, const std::string& format, const std::string& path,
              Settings& settings) {
  if (path.empty()) wrong_value("format", value, "a file behind the '='");
  if (std::ranges::any_of(settings.format_files,
                          [&](const FormatFile& file) { return file.path == path; }))
    wrong_value("format", value, "each file only once");
  settings.format_files.push_back({format, path});
}

// What the end of a file's name says; empty if it says nothing.
std::string format_of_name(const std::string& file) {
  static constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
    {".html", "html"},        {".htm", "html"},
    {".json", "json"},        {".jsonl", "jsonl"},
    {".sarif", "sarif"},      {".md", "markdown"},
    {".xml", "junit"},        {".sqlite", kDatabaseFormat},
    {".db", kDatabaseFormat}, {".prom", "prometheus"},
    {".pftrace", "pftrace"}};
  for (const auto& [end, format] : kEnds)
    if (file.ends_with(end)) return std::string(format);
  return {};
}

} // namespace

std::string format_list() { return listed(formats_of(CommandId::kRun)); }

void read_formats(const std::vector<std::string>& values, Settings& settings) {
  const std::vector<std::string> known = formats_of(settings.command);
  if (const std::string meant = format_of_name(settings.output);
      std::ranges::find(known, meant) != known.end())
    settings.format = meant;
  for (const std::string& value : values) {
    const std::size_t equals =
      settings.command == CommandId::kTop || settings.command == CommandId::kDump
        ? std::string::npos
        : value.find('=');
    const std::string format = value.substr(0, equals);
    if (std::ranges::find(known, format) == known.end())
      wrong_value("format", value, known.size() > 3 ? listed(known) : any_of(known));
    if (equals == std::string::npos) settings.format = format;
    else add_file(value, format, value.substr(equals + 1), settings);
  }
  if (settings.format != kDatabaseFormat) return;
  // A database is made as a file, and has no stream.
  if (settings.output.empty())
    wrong_value("format", settings.format,
                "sqlite with a file: --format sqlite=FILE, or with --output");
  settings.format = "text";
  add_file("sqlite", std::string(kDatabaseFormat), settings.output, settings);
  settings.output.clear();
  settings.files_only = true;
}

} // namespace gmt
