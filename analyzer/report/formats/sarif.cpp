// SPDX-License-Identifier: Apache-2.0
// SARIF 2.1.0, for GitHub's code scanning and editors. Findings are results, kinds are rules. Keeps
// within what GitHub takes: 5,000 results, 100 related locations of each, 10 MB compressed. What
// does not fit is cut from the end, where the least severe findings are, and counted in a
// notification. No absolute path is written.
#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include "analyzer/base/signal_name.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/report/source_paths.h"

namespace gmt::sarif {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostResults = 5000;
constexpr std::size_t kMostLocations = 100;
constexpr std::size_t kMostFrames = 100;
constexpr std::size_t kMostCompressedBytes = 9'500'000; // of 10 MB

struct Context {
  const Report& report;
  const OutputOptions& options;
  SourcePaths paths;
  std::map<std::string, std::size_t> rules; // positions in the array
};

Json text_message(std::string_view text) { return {{"text", without_folders(text)}}; }

// "](" would make a link of what the program wrote.
std::string without_links(std::string text) {
  for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at))
    text.insert(at + 1, " ");
  return text;
}

Json physical_location(const FilePosition& line) {
  return {{"artifactLocation", {{"uri", uri_of(line.file)}, {"uriBaseId", "SRCROOT"}}},
          {"region", {{"startLine", line.line}}}};
}

Json logical_locations(const Frame& frame) {
  return Json::array(
    {{{"fullyQualifiedName", without_folders(frame.function)}, {"kind", "function"}}});
}

Json location_of(const FilePosition& line) {
  Json location = {{"physicalLocation", physical_location(line)}};
  if (line && !line.frame->function.empty())
    location["logicalLocations"] = logical_locations(*line.frame);
  return location;
}

Json frame_of(const Frame& frame, const Context& context) {
  Json location = Json::object();
  const std::string file = context.paths.relative(frame);
  if (!file.empty())
    location["physicalLocation"] = physical_location({file, std::max(frame.line, 1u)});
  if (!frame.function.empty()) location["logicalLocations"] = logical_locations(frame);
  if (location.empty())
    location["message"] = text_message(tools::location_text(frame, context.paths));
  return {{"location", std::move(location)}};
}

Json stack_of(const LabelledStack& stack, const Context& context) {
  Json frames = Json::array();
  std::size_t most = kMostFrames;
  if (context.options.stack_depth != 0)
    most = std::min<std::size_t>(most, context.options.stack_depth);
  for (const Frame& frame : stack.frames) {
    if (frames.size() == most) break;
    frames.push_back(frame_of(frame, context));
  }
  return {{"message", text_message(stack.label)}, {"frames", std::move(frames)}};
}

// The sentence, the thread of a kernel, the advice. The lines of the stacks are related locations.
std::string message_of(const ReportedFinding& finding) {
  std::string text = without_links(without_folders(finding.message));
  if (const std::string thread = tools::thread_words(finding); !thread.empty())
    text += (text.empty() ? "In " : " In ") + without_links(without_folders(thread)) + ".";
  if (!finding.advice.empty())
    text += (text.empty() ? "" : " ") + without_links(without_folders(finding.advice));
  return text.empty() ? finding.kind : text;
}

void add_baseline(Json& result, BaselineState state) {
  switch (state) {
  case BaselineState::kNew: result["baselineState"] = "new"; break;
  case BaselineState::kGrown: result["baselineState"] = "updated"; break;
  case BaselineState::kKnown: result["baselineState"] = "unchanged"; break;
  case BaselineState::kNoBaseline: break;
  }
}

Json properties_of(const ReportedFinding& finding) {
  Json properties = {{"bytes", finding.bytes}, {"count", finding.count}};
  if (!finding.api.empty()) properties["call"] = without_folders(finding.api);
  if (!finding.range.empty()) properties["range"] = without_folders(finding.range);
  if (!finding.owner.empty()) properties["owner"] = without_folders(finding.owner);
  if (const std::string thread = tools::thread_words(finding); !thread.empty())
    properties["thread"] = without_folders(thread);
  properties["process"] = finding.process;
  return properties;
}

Json result_of(const ReportedFinding& finding, const Context& context) {
  Json related = Json::array(), stacks = Json::array();
  for (const LabelledStack& stack : finding.stacks) {
    if (!stack.frames.empty()) stacks.push_back(stack_of(stack, context));
    const FilePosition line = context.paths.line_of(stack);
    if (!line || related.size() == kMostLocations) continue;
    Json location = location_of(line);
    location["id"] = related.size() + 1;
    location["message"] = text_message(stack.label);
    related.push_back(std::move(location));
  }
  Json result = {{"ruleId", finding.kind},
                 {"ruleIndex", context.rules.at(finding.kind)},
                 {"level", tools::severity_word(finding.severity)},
                 {"message", {{"text", message_of(finding)}}},
                 {"locations", Json::array({location_of(context.paths.line_of(finding))})}};
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  if (!stacks.empty()) result["stacks"] = std::move(stacks);
  if (!finding.fingerprint.empty()) {
    Json& fingerprints = result["partialFingerprints"];
    if (!finding.function_fingerprint.empty())
      fingerprints["gpumemtrace/v1"] = finding.function_fingerprint;
    if (has_source_line(finding.fingerprint)) fingerprints["gpumemtrace/v2"] = finding.fingerprint;
  }
  add_baseline(result, finding.baseline);
  result["properties"] = properties_of(finding);
  return result;
}

Json rule_of(const ReportedFinding& first, const OutputOptions& options) {
  KindHelp help;
  if (options.help_of) help = options.help_of(first.kind);
  if (help.title.empty()) help.title = first.kind;
  if (help.text.empty()) help.text = help.title;
  return {{"id", first.kind},
          {"shortDescription", {{"text", help.title}}},
          {"fullDescription", {{"text", help.title}}},
          {"help", {{"text", help.text}}},
          {"defaultConfiguration", {{"level", tools::severity_word(first.severity)}}},
          {"properties", {{"tags", {"memory", "CUDA"}}}}};
}

Json rules_of(Context& context) {
  Json rules = Json::array();
  for (const ReportedFinding& finding : context.report.findings) {
    if (!context.rules.try_emplace(finding.kind, rules.size()).second) continue;
    rules.push_back(rule_of(finding, context.options));
  }
  return rules;
}

Json notification(std::string_view level, std::string_view text) {
  return {{"level", level}, {"message", text_message(text)}};
}

Json invocation_of(const Report& report, std::size_t left_out) {
  Json notes = Json::array();
  if (left_out != 0)
    notes.push_back(
      notification("warning", format_plural(left_out, "more finding") +
                                " of the least severity did not fit or were not asked for"));
  const std::vector<const Failure*> failures = report.conclusion.beside_findings();
  for (const Failure* failure : failures) notes.push_back(notification("error", failure->sentence));
  for (const NotChecked& entry : report.not_checked)
    notes.push_back(notification("note", "not checked: " + entry.what + ": " + entry.why));
  for (const std::string& remark : report.remarks) notes.push_back(notification("note", remark));
  std::uint64_t lost = 0;
  for (const ProcessReport& process : report.processes) lost += process.lost_events();
  if (lost != 0)
    notes.push_back(
      notification("warning", format_plural(lost, "event") + " lost: findings may be missing"));
  Json invocation = {{"executionSuccessful", failures.empty()},
                     {"exitCode", report.conclusion.status}};
  if (const int signal = report.conclusion.signal; signal != 0) {
    invocation["exitSignalNumber"] = signal;
    invocation["exitSignalName"] = signal_name(signal);
  }
  invocation["toolExecutionNotifications"] = std::move(notes);
  return invocation;
}

std::string document(const Json& rules, const Json& results, const Context& context) {
  const std::size_t left_out = context.report.findings.size() - results.size();
  const Json root = {{"description", {{"text", "the folder of the program's sources"}}}};
  const Json log = {
    {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
    {"version", "2.1.0"},
    {"runs", Json::array({{{"tool",
                            {{"driver",
                              {{"name", "gpumemtrace"},
                               {"version", context.report.tool_version},
                               {"rules", rules}}}}},
                           {"columnKind", "utf16CodeUnits"},
                           {"originalUriBaseIds", {{"SRCROOT", root}}},
                           {"invocations", Json::array({invocation_of(context.report, left_out)})},
                           {"results", results}}})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::size_t compressed_size(const std::string& text) {
  uLongf size = ::compressBound(static_cast<uLong>(text.size()));
  std::vector<Bytef> bytes(size);
  const int status = ::compress(bytes.data(), &size, reinterpret_cast<const Bytef*>(text.data()),
                                static_cast<uLong>(text.size()));
  return status == Z_OK ? size : text.size();
}

void write_sarif(const Report& report, const OutputOptions& options, std::ostream& stream) {
  Context context{report, options, SourcePaths(report, options.source_root), {}};
  const Json rules = rules_of(context);
  Json results = Json::array();
  const std::size_t count = std::min(tools::shown_findings(report, options), kMostResults);
  for (std::size_t i = 0; i < count; ++i) results.push_back(result_of(report.findings[i], context));
  std::string text = document(rules, results, context);
  while (text.size() > kMostCompressedBytes && !results.empty() &&
         compressed_size(text) > kMostCompressedBytes) {
    const std::size_t kept = results.size() - results.size() / 4 - 1;
    results.erase(results.begin() + static_cast<std::ptrdiff_t>(kept), results.end());
    text = document(rules, results, context);
  }
  stream << text;
}

const OutputRegistration kSarif{{.id = "sarif",
                                 .title = "SARIF 2.1.0, for code scanning of GitHub and others",
                                 .write = write_sarif}};

} // namespace
} // namespace gmt::sarif
