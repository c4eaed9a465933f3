// SPDX-License-Identifier: Apache-2.0
// `dump`: every event of one trace in the merged order, one line each, and each call stack once,
// before its first use; then what kernels wrote, log by log in the order of their reading, and what
// their instructions did to memory. For people, grep and bug reports: it shows what was recorded,
// before any verdict.

#include <unistd.h>

#include <filesystem>

#include "analyzer/base/printable.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/dump/dump_format.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/facts/name_table.h"

namespace gmt {

namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

// Python's frames stand behind the return addresses. A bar ends what one evaluator of the
// interpreter ran.
std::string frame_text(std::uint64_t address, const PythonFrames& python) {
  if (!PythonFrames::is_python(address)) return format_address(address);
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
  const std::string problem = collect_rings(settings.words[0]);
  if (!problem.empty()) say(problem);
  EventStream stream(open_trace(settings.words[0]).value());
  std::vector<std::string> logs;
  for (const std::filesystem::path& log : stream.trace().logs) logs.push_back(log.stem().string());

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
