// SPDX-License-Identifier: Apache-2.0
// The tables of the report, and the file as a whole.

#include "analyzer/command/database/database_report.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/user_error.h"
#include "analyzer/command/database/event_tables.h"
#include "analyzer/command/database/schema.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

void add_process(SqlInsert& row, const ProcessReport& process, std::uint64_t id,
                 std::uint64_t begin_realtime) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  const std::string arguments = nlohmann::json(process.arguments).dump(-1, ' ', false, replace);
  row.number(id).number(process.pid).text(process.host).text(process.executable).text(arguments);
  row.text(process.trace).text_or_null(process.device).text_or_null(process.driver_version);
  row.text(tools::ending_word(process.ended.how));
  if (process.ended.how == Ending::How::kExited)
    row.number(static_cast<std::uint64_t>(process.ended.status));
  else row.null();
  if (process.ended.how == Ending::How::kSignalled)
    row.number(static_cast<std::uint64_t>(process.ended.signal));
  else row.null();
  row.number_or_null(begin_realtime).number(process.totals.peak_bytes);
  row.number(process.totals.live_bytes).number(process.lost_events()).done();
}

void add_findings(SqlFile& file, const Report& report, FrameTables& frames) {
  SqlInsert findings(file, "finding", 14), stacks(file, "finding_stack", 5),
    stack_frames(file, "finding_frame", 4);
  std::uint64_t id = 0;
  for (const ReportedFinding& finding : report.findings) {
    findings.number(++id).number(finding.process + 1).text(finding.kind);
    findings.text(tools::severity_word(finding.severity)).text(finding.fingerprint);
    findings.text_or_null(tools::baseline_word(finding.baseline)).text(finding.message);
    findings.text_or_null(finding.advice).number(finding.bytes).number(finding.count);
    findings.number(finding.address).text_or_null(finding.api).text_or_null(finding.owner);
    findings.text_or_null(finding.range).done();
    for (std::size_t i = 0; i < finding.stacks.size(); ++i) {
      const LabelledStack& stack = finding.stacks[i];
      stacks.number(id).number(i).text(stack.label).text_or_null(stack.api);
      stacks.text_or_null(stack.device ? stack.device->kernel : "").done();
      for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
        stack_frames.number(id).number(i).number(depth);
        stack_frames.number(frames.number_of(stack.frames[depth])).done();
      }
    }
  }
}

void add_all(SqlFile& file, const Report& report, const DatabaseOptions& options) {
  file.run(kDatabaseSchema);
  EventTables events(file, options.span, options.with_symbols);
  SqlInsert processes(file, "process", 15);
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const ProcessReport& process = report.processes[i];
    const std::uint64_t begin =
      events.add(open_trace(trace_shown_as(process.trace)).value(), i + 1);
    add_process(processes, process, i + 1, begin);
  }
  add_findings(file, report, events.frames());
  SqlInsert gaps(file, "not_checked", 2), meta(file, "meta", 2);
  for (const NotChecked& gap : report.not_checked) gaps.text(gap.what).text(gap.why).done();
  meta.text("schema").text(std::to_string(kDatabaseVersion)).done();
  meta.text("tool").text("gpumemtrace " + report.tool_version).done();
  meta.text("conclusion").text(in_words(report.conclusion)).done();
  meta.text("status").text(std::to_string(report.conclusion.status)).done();
  meta.text("report").text(options.json).done();
  file.run("CREATE INDEX event_stack ON event(stack); CREATE INDEX block_stack ON block(stack); "
           "COMMIT");
}

// Beside the file, under a name that cannot be a link yet.
std::string make_partial(const std::string& path) {
  std::string name = path + ".partial.XXXXXX";
  const Descriptor made(::mkostemp(name.data(), O_CLOEXEC));
  if (!made)
    throw UserError(
      cat({"cannot open the database '", path, "': ", std::generic_category().message(errno)}),
      ExitStatus::kUsage);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(made.number(), 0666 & ~mask);
  return name;
}

// It has no stream to write to: the command makes the file.
const OutputRegistration kSqlite{{.id = kDatabaseFormat,
                                  .title = "a database of every call, block, stack and finding",
                                  .write = nullptr}};

} // namespace

void write_database(const Report& report, const DatabaseOptions& options, const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    throw UserError(cat({"'", path, "' is no regular file, which a database needs"}),
                    ExitStatus::kUsage);
  const std::string partial = make_partial(path);
  try {
    SqlFile file(partial, SqlFile::Use::kMake);
    add_all(file, report, options);
  } catch (const UserError&) {
    fs::remove(partial, error);
    throw;
  }
  fs::rename(partial, path, error);
  if (error)
    throw UserError(cat({"cannot write the database '", path, "': ", error.message()}),
                    ExitStatus::kInternal);
}

bool is_database(const std::string& path) {
  constexpr std::string_view kBegin = "SQLite format 3";
  std::ifstream in(path, std::ios::binary);
  std::string begin(kBegin.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in && begin == kBegin;
}

std::string json_in_database(const std::string& path) {
  SqlFile file(path, SqlFile::Use::kRead);
  const auto table =
    file.first_text("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'meta'");
  const auto json =
    table ? file.first_text("SELECT value FROM meta WHERE key = 'report'") : std::nullopt;
  if (!json)
    throw UserError(cat({"the database '", path, "' is no report of gpumemtrace"}),
                    ExitStatus::kUsage);
  return *json;
}

} // namespace gmt
