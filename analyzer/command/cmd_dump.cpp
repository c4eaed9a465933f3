// SPDX-License-Identifier: Apache-2.0
// `dump`: every event of one trace in the merged order, one line each, and each call stack once,
// before its first use; then what kernels wrote, log by log in the order of their reading, and what
// their instructions did to memory. For people, grep and bug reports: it shows what was recorded,
// before any verdict.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyzer/base/printable.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/dump/dump_format.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/symbols/stack_frames.h"
#include "analyzer/symbols/symbols_cache.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/facts/name_table.h"
#include "analyzer/trace_reader/reused_addresses.h"

namespace gmt {

namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

// Python's frames stand behind the return addresses. A bar ends what one evaluator of the
// interpreter ran.
std::string frame_text(std::uint64_t address, const PythonFrames& python) {
  if (!PythonFrames::is_python(address)) return format_address(machine_address(address));
  const PythonFrames::Frame frame = python.find(address);
  if (frame.code == nullptr) return "|";
  return "[" + escape(frame.code->function) + " " + escape(frame.code->file) + ":" +
         std::to_string(frame.line) + "]";
}

std::string stack_line(StackId id, const EventStream& stream) {
  std::string line = "stack " + std::to_string(id.value) + ":";
  for (const std::uint64_t address : stream.stacks().frames(id))
    line += " " + frame_text(address, stream.stacks().python());
  return line + "\n";
}

// A line of JSON for each stack, with functions and lines as far as the trace has them.
std::string stack_json(StackId id, const EventStream& stream, const SymbolFile& symbols) {
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  const auto names = [&symbols](const Module& module, std::uint64_t address) {
    const std::vector<Frame>* known = symbols.find(address, module.loaded);
    if (known != nullptr) return *known;
    Frame frame;
    frame.address = address;
    frame.module = module.path;
    return std::vector<Frame>{std::move(frame)};
  };
  for (const Frame& frame :
       stack_frames(stream.stacks(), id, stream.trace().modules, names, false)) {
    nlohmann::ordered_json row = {{"address", format_address(frame.address)}};
    if (!frame.function.empty()) row["function"] = frame.function;
    if (!frame.file.empty()) row["file"] = frame.file;
    if (frame.line != 0) row["line"] = frame.line;
    if (!frame.module.empty()) row["module"] = frame.module;
    frames.push_back(std::move(row));
  }
  const nlohmann::ordered_json line = {{"stack", id.value}, {"frames", std::move(frames)}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string event_json(const Event& event, EventStream& stream, const NameTable& names,
                       const std::string& thread) {
  const bool is_of_call = is_call(event.kind);
  nlohmann::ordered_json line = {{"order", event.order}, {"thread", thread}};
  line["kind"] = kind_word(event.kind);
  if (is_of_call) line["call"] = names.symbol(event.api);
  if (is_of_call && event.via != trace::kNoApi) line["via"] = names.symbol(event.via);
  nlohmann::ordered_json& fields = line["fields"] = nlohmann::ordered_json::object();
  for_each_column(event, stream.words(), names,
                  [&fields](std::string_view name, std::string value) {
                    fields[std::string(name)] = std::move(value);
                  });
  if (is_of_call) line["result"] = call_result_text(event);
  if (event.is_nested) line["nested"] = true;
  if (event.ticks != 0) line["ticks"] = event.ticks;
  if (event.context != 0) line["context"] = event.context;
  if (event.stack) line["stack"] = event.stack.value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Events of the host's calls. What kernels wrote is in the form for people alone.
int dump_json(EventStream& stream, const std::vector<std::string>& logs) {
  const SymbolFile symbols = SymbolFile::read(stream.trace().path);
  NameTable names(stream.trace().apis);
  std::vector<bool> shown;
  std::string text;
  const auto flush = [&text] {
    const bool go_on = write_output(STDOUT_FILENO, "standard output", text);
    text.clear();
    return go_on;
  };
  while (const Event* event = stream.next()) {
    if (!is_call(event->kind)) names.follow(*event);
    const std::uint32_t stack = event->stack.value;
    if (stack >= shown.size()) shown.resize(stack + std::size_t{1});
    if (stack != 0 && !shown[stack]) text += stack_json(event->stack, stream, symbols);
    shown[stack] = true;
    text += event_json(*event, stream, names, event->log < logs.size() ? logs[event->log] : "?");
    if (text.size() >= kFlushBytes && !flush()) return 0;
  }
  const ReadStats stats = stream.stats();
  const nlohmann::ordered_json end = {{"end", true},
                                      {"records", stats.total.records},
                                      {"lost", stats.lost()},
                                      {"torn", stats.total.torn},
                                      {"damaged", stats.total.damaged}};
  text += end.dump() + "\n";
  flush();
  return 0;
}

// What a reader must know before believing the lines above it to be all.
std::string last_line(const ReadStats& stats) {
  return "end: " + std::to_string(stats.total.records) + " records, " +
         std::to_string(stats.lost()) + " lost, " + std::to_string(stats.total.torn) +
         " torn slots, " + std::to_string(stats.total.damaged) + " damaged, " +
         std::to_string(stats.total.unknown_kinds) + " of unknown kinds\n";
}

} // namespace

int command_dump(const Settings& settings) {
  if (settings.words.size() != 1) {
    throw UserError("dump takes one trace: 'gpumemtrace dump gpumemtrace.app.host.4711'",
                    ExitStatus::kUsage);
  }
  const std::filesystem::path trace = one_trace(settings.words[0]);
  const std::string problem = collect_rings(trace);
  if (!problem.empty()) say(problem);
  EventStream stream(open_trace(trace).value());
  std::vector<std::string> logs;
  for (const std::filesystem::path& log : stream.trace().logs) logs.push_back(log.stem().string());
  if (settings.format == "jsonl") return dump_json(stream, logs);

  std::vector<bool> shown;
  std::string text;
  const auto flush = [&text] {
    const bool go_on = write_output(STDOUT_FILENO, "standard output", printable_lines(text));
    text.clear();
    return go_on;
  };
  NameTable names(stream.trace().apis);
  while (const Event* event = stream.next()) {
    if (!is_call(event->kind)) names.follow(*event);
    const std::uint32_t stack = event->stack.value;
    if (stack >= shown.size()) shown.resize(stack + std::size_t{1});
    if (stack != 0 && !shown[stack]) text += stack_line(event->stack, stream);
    shown[stack] = true;
    text +=
      dump_line(*event, stream.words(), names, event->log < logs.size() ? logs[event->log] : "?") +
      "\n";
    if (text.size() >= kFlushBytes && !flush()) return 0;
  }
  for (const DeviceLogFiles& files : stream.trace().device_logs) {
    DeviceLogReader reader(files);
    while (const DeviceRecord* record = reader.next()) {
      text += dump_line(*record, files.name) + "\n";
      if (text.size() >= kFlushBytes && !flush()) return 0;
    }
  }
  for (const std::filesystem::path& log : stream.trace().access_logs) {
    text += dump_lines(read_access_log(log));
    if (!flush()) return 0;
  }
  text += last_line(stream.stats());
  flush();
  return 0;
}

} // namespace gmt
