// SPDX-License-Identifier: Apache-2.0
// `last`: what a process did last: where its own code crashed, the last calls of each thread with
// the line that made each, calls that never returned, and launches behind the last call that waits.
// The report follows. For the first look after a crash.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/host_crash.h"
#include "analyzer/base/folder_files.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/text_format.h"
#include "analyzer/command/command.h"
#include "analyzer/command/console.h"
#include "analyzer/command/pack/packed_traces.h"
#include "analyzer/command/run/leftover_rings.h"
#include "analyzer/command/run/run_traces.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/text_layout.h"
#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/frame_trim.h"
#include "analyzer/symbols/stack_frames.h"
#include "analyzer/symbols/symbols.h"
#include "analyzer/symbols/symbols_cache.h"
#include "analyzer/trace_reader/event_stream.h"
#include "analyzer/trace_reader/facts/name_table.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCalls = 10, kLaunches = 10;
constexpr std::size_t kShortestName = 16; // columns of a function's name

struct Call {
  std::string words; // "cudaMalloc, 1.0 MiB"
  std::string result;
  StackId stack;
  std::uint64_t order = 0;
};

struct ThreadCalls {
  std::deque<Call> last;
  std::uint64_t count = 0;
};

// What happened, in the order of the trace.
struct LastCalls {
  std::map<std::uint32_t, ThreadCalls> threads; // by number
  std::deque<Call> launches;                    // behind the last call that waits
  std::uint64_t launch_count = 0;
};

std::string call_words(const Event& event, const NameTable& names) {
  const bool has_via = event.via != trace::kNoApi;
  std::string_view name = names.api_name(has_via ? event.via : event.api);
  while (name.starts_with('_')) name.remove_prefix(1); // __cudaLaunchKernel of newer runtimes
  std::string words(name);
  std::uint64_t bytes = 0;
  switch (event.kind) {
  case EventKind::kAlloc: bytes = event.allocation().bytes; break;
  case EventKind::kCopy: bytes = event.copy().bytes; break;
  case EventKind::kSet: bytes = event.set().bytes; break;
  case EventKind::kFree: words += ", " + format_address(event.free().address); break;
  case EventKind::kLaunch:
    if (const std::string_view kernel = names.handle_name(event.launch().function); !kernel.empty())
      words += ", " + shorten_function(demangle(kernel), kLongestName);
    break;
  default: break;
  }
  return bytes == 0 ? words : words + ", " + format_bytes(bytes);
}

std::string call_result(const Event& event) {
  if (event.in_flight()) return "did not return";
  return event.result == 0 ? "" : error_name(event.result, event.from_runtime);
}

// Whether it waited for launches. Plain copies and frees wait for the work of ordinary streams.
bool waits(const Event& event, const NameTable& names) {
  if (!event.succeeded()) return false;
  if (event.kind == EventKind::kSync) {
    const trace::SyncOp op = event.sync().op;
    return op == trace::SyncOp::kStreamSynchronize || op == trace::SyncOp::kContextSynchronize ||
           op == trace::SyncOp::kEventSynchronize;
  }
  if (event.kind != EventKind::kCopy && event.kind != EventKind::kFree) return false;
  return names.symbol(event.api).find("Async") == std::string_view::npos;
}

LastCalls read_last_calls(EventStream& stream) {
  LastCalls calls;
  NameTable names(stream.trace().apis);
  while (const Event* event = stream.next()) {
    if (!is_call(event->kind)) {
      names.follow(*event);
      continue;
    }
    if (event->is_nested) continue;
    Call call{call_words(*event, names), call_result(*event), event->stack, event->order};
    if (waits(*event, names)) {
      calls.launches.clear();
      calls.launch_count = 0;
    } else if (event->kind == EventKind::kLaunch) {
      ++calls.launch_count;
      calls.launches.push_back(call);
      if (calls.launches.size() > kLaunches) calls.launches.pop_front();
    }
    ThreadCalls& thread = calls.threads[event->thread];
    ++thread.count;
    thread.last.push_back(std::move(call));
    if (thread.last.size() > kCalls) thread.last.pop_front();
  }
  return calls;
}

// The program's own first frame of a stack.
class CallLines {
public:
  explicit CallLines(const EventStream& stream)
      : stream_(stream), known_(SymbolFile::read(stream.trace().path)) {}

  void want(StackId stack) {
    for (const std::uint64_t address : stream_.stacks().frames(stack)) {
      const Module* module = find_module(stream_.trace().modules, address);
      if (module != nullptr && known_.find(address, module->loaded) == nullptr)
        resolver_.want(*module, address);
    }
  }
  void resolve() { resolver_.resolve(); }

  // Its line, and its function in at most `room` columns.
  struct Line {
    std::string location, function;
  };
  Line line_of(StackId stack, std::size_t room) const {
    const auto names = [this](const Module& module, std::uint64_t address) {
      const std::vector<Frame>* known = known_.find(address, module.loaded);
      return known != nullptr ? *known : resolver_.frames(module, address);
    };
    std::vector<Frame> frames =
      stack_frames(stream_.stacks(), stack, stream_.trace().modules, names, false);
    trim_frames(frames);
    if (frames.empty()) return {"(no call stack was recorded)", ""};
    auto at = std::ranges::find_if(frames, is_users_frame);
    if (at == frames.end()) at = frames.begin();
    std::string location = text::location(*at, stream_.trace().info.directory);
    const std::size_t taken = text::columns(location) + 2;
    const std::size_t left = std::max(room, taken + kShortestName) - taken;
    return {std::move(location),
            printable(shorten_function(at->function, std::min(left, kLongestName)))};
  }

private:
  const EventStream& stream_;
  const SymbolFile known_;
  SymbolResolver resolver_;
};

std::string in_one(const CallLines::Line& line) {
  return line.function.empty() ? line.location : line.location + "  " + line.function;
}

// The line of source beside the call, and its result behind that; each below the call where there
// is no room for it.
void add_calls(std::string& text, const std::deque<Call>& calls, const CallLines& lines,
               std::size_t width) {
  constexpr std::string_view kBelow = "\n      ";
  std::size_t column = 0;
  for (const Call& call : calls) column = std::max(column, text::columns(call.words));
  column = std::min<std::size_t>(column, 48);
  for (const Call& call : calls) {
    const std::string words = text::pad(printable(call.words), column);
    const std::size_t begin = text::columns(words) + 4;
    std::string line = in_one(lines.line_of(call.stack, width - std::min(width, begin)));
    std::size_t end = begin + text::columns(line);
    if (end <= width) {
      text += "  " + words + "  " + line;
    } else {
      line = in_one(lines.line_of(call.stack, width - 6));
      text += cat({"  ", printable(call.words), kBelow, line});
      end = 6 + text::columns(line);
    }
    if (!call.result.empty())
      text +=
        cat({end + 4 + text::columns(call.result) <= width ? "  " : kBelow, "= ", call.result});
    text += "\n";
  }
}

// Where the program's own code met SIGSEGV or SIGBUS.
std::string crash_lines(const std::optional<HostCrash>& crash, const CallLines& lines,
                        std::size_t width) {
  if (!crash) return {};
  return crash->signal + ": the program's own code " +
         (crash->is_write ? "wrote to " : "read from ") + format_address(crash->address) +
         " here\n  " + in_one(lines.line_of(crash->stack, width - 2)) + "\n";
}

// How a debugger opens the core dumps of GPUs that --keep-core-dump has left in the trace.
std::string debugger_lines(const TraceDir& trace) {
  std::string text;
  std::error_code error;
  for (fs::directory_iterator it(trace.path, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with("gpu-core.")) continue;
    text += "the GPU's core dump: cuda-gdb '" + printable(trace.info.executable) +
            "' -ex 'target cudacore " + printable(it->path().string()) + "'\n";
  }
  return text;
}

// Of the newest run here: the process that a signal ended, else the first.
fs::path newest_trace() {
  const std::vector<TraceHead> run = newest_run(".");
  if (run.empty())
    throw UserError("no trace in the current directory: 'gpumemtrace last "
                    "gpumemtrace.app.host.4711' names one",
                    ExitStatus::kUnreadableTrace);
  const auto ended_by_signal = [](const TraceHead& head) {
    const std::string ending = read_in_folder(head.path / "complete", 4096).value_or("");
    const std::string info = read_in_folder(head.path / "info", 1 << 20).value_or("");
    return ending.find("how=signalled") != std::string::npos ||
           info.find("\ncrash=") != std::string::npos;
  };
  const auto found = std::ranges::find_if(run, ended_by_signal);
  const fs::path trace = (found != run.end() ? *found : run.front()).path.lexically_normal();
  say("reading the newest trace, " + trace.string());
  return trace;
}

} // namespace

int command_last(const Settings& settings) {
  if (settings.words.size() > 1)
    throw UserError("last takes one trace: 'gpumemtrace last gpumemtrace.app.host.4711'",
                    ExitStatus::kUsage);
  const fs::path trace = settings.words.empty() ? newest_trace() : one_trace(settings.words[0]);
  if (const std::string problem = collect_rings(trace); !problem.empty()) say(problem);
  EventStream stream(open_trace(trace).value());
  const LastCalls calls = read_last_calls(stream);
  const std::optional<HostCrash> crash = read_crash(stream);
  CallLines lines(stream);
  if (crash) lines.want(crash->stack);
  for (const auto& [number, thread] : calls.threads)
    for (const Call& call : thread.last) lines.want(call.stack);
  for (const Call& call : calls.launches) lines.want(call.stack);
  lines.resolve();
  const std::size_t width = text_width(STDOUT_FILENO);
  std::string text = crash_lines(crash, lines, width);
  for (const auto& [number, thread] : calls.threads) {
    text += "thread " + std::to_string(number) + ", the last " +
            std::to_string(thread.last.size()) + " of " + format_plural(thread.count, "call") +
            ", the latest below\n";
    add_calls(text, thread.last, lines, width);
  }
  if (calls.launch_count != 0) {
    const bool is_one = calls.launch_count == 1;
    text += format_count(calls.launch_count) + (is_one ? " launch" : " launches") +
            " that may have run at the end: no call behind them waits";
    if (calls.launch_count > calls.launches.size())
      text += ", of which the last " + std::to_string(calls.launches.size()) + " are";
    text += "\n";
    add_calls(text, calls.launches, lines, width);
  }
  if (calls.threads.empty()) text += "no call was recorded\n";
  text += debugger_lines(stream.trace());
  if (!write_output(STDOUT_FILENO, "standard output", text + "\n")) return 0;
  Settings report = settings;
  report.command = CommandId::kReport;
  report.words = {trace.string()};
  return command_report(report);
}

} // namespace gmt
