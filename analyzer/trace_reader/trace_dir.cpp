// SPDX-License-Identifier: Apache-2.0
// Opens a trace directory and reads its text files. A wrong path is answered in words that say
// which kind of wrong it is; a damaged line costs that line only.

#include "analyzer/trace_reader/trace_dir.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/base/user_error.h"
#include "analyzer/trace_reader/core_dump_file.h"
#include "analyzer/trace_reader/packed_log.h"
#include "analyzer/trace_reader/reused_addresses.h"
#include "trace/format.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

// Bounds of what a reader of unknown files takes in; docs/traces.md names them.
constexpr std::size_t kMostTextBytes = 64u << 20;  // of `modules`
constexpr std::size_t kMostShortBytes = 16u << 20; // of the others
constexpr std::size_t kMostArguments = 100'000, kMostOptions = 1000, kMostModules = 8192;
constexpr std::size_t kMostVariables = 64; // parts of a module that the program may write

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The whole file; nothing if there is no such regular file, or if it cannot be read, which is the
// problem then.
std::optional<std::string> read_text(const fs::path& path, std::size_t most, std::string& problem) {
  if (!is_file_in_folder(path)) return std::nullopt;
  errno = 0;
  std::optional<std::string> text = read_in_folder(path, most);
  if (!text)
    problem = cat({"cannot read ", path.string(), ": ", std::strerror(errno != 0 ? errno : EIO)});
  return text;
}

class Parser {
public:
  explicit Parser(TraceDir& dir) : dir_(dir) {}

  void info(std::string_view text) {
    pairs(text, [this](std::string_view key, std::string value) {
      return info_line(key, std::move(value));
    });
  }

  void completion(std::string_view text) {
    Completion c;
    pairs(text, [&c](std::string_view key, const std::string& value) {
      if (key == "how") {
        if (value == "exited") c.ending.how = Ending::How::kExited;
        if (value == "signalled") c.ending.how = Ending::How::kSignalled;
        return true;
      }
      if (key == "status") return number(value, c.ending.status);
      if (key == "signal") return number(value, c.ending.signal);
      if (key == "tsc") return number(value, c.tsc);
      if (key == "monotonic_ns") return number(value, c.monotonic_ns);
      if (key == "core") c.core_dumped = value == "1";
      return true;
    });
    dir_.completion = c;
  }

  void apis(std::string_view text) {
    for_each_line(text, [this](std::string_view line) {
      const bool good = std::ranges::all_of(line, is_name_character) && !line.empty();
      if (!good) ++dir_.damaged_lines;
      if (dir_.apis.size() < trace::kNoApi) dir_.apis.emplace_back(good ? line : "?");
    });
  }

  void modules(std::string_view text) {
    for_each_line(text, [this](std::string_view line) {
      if (!line.empty() && !module_line(split_tabs(line))) ++dir_.damaged_lines;
    });
    if (modules_left_out_ != 0)
      dir_.left_out.push_back(cat({format_plural(modules_left_out_, "object file"), " of ",
                                   std::to_string(kMostModules + modules_left_out_),
                                   ", which were loaded last: their frames have no names"}));
  }

private:
  template <class Integer> static bool number(std::string_view text, Integer& into) {
    const auto value = parse_number<Integer>(text);
    if (value) into = *value;
    return value.has_value();
  }

  // visit(key, value) says whether the value makes sense.
  template <class Visit> void pairs(std::string_view text, Visit visit) {
    for_each_line(text, [&](std::string_view line) {
      if (line.empty()) return;
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos ||
          !visit(line.substr(0, equals), unescape(line.substr(equals + 1)))) {
        ++dir_.damaged_lines;
      }
    });
  }

  bool info_line(std::string_view key, std::string value) {
    TraceInfo& i = dir_.info;
    if (key == "format") {
      const std::size_t dot = value.find('.');
      const std::string_view all = value;
      return dot != std::string::npos && number(all.substr(0, dot), i.major) &&
             number(all.substr(dot + 1), i.minor);
    }
    if (key == "pid") return number(value, i.pid);
    if (key == "ppid") return number(value, i.ppid);
    if (key == "forked_from") return number(value, i.forked_from);
    if (key == "tsc") return number(value, i.tsc);
    if (key == "monotonic_ns") return number(value, i.monotonic_ns);
    if (key == "realtime_ns") return number(value, i.realtime_ns);
    if (key == "stack_depth") return number(value, i.stack_depth);
    if (key == "heap_begin") return number(value, i.heap_begin);
    if (key == "heap_end") return number(value, i.heap_end);
    if (key == "stack_begin") return number(value, i.stack_begin);
    if (key == "stack_end") return number(value, i.stack_end);
    if (key == "driver") return driver(value);
    if (key == "rank") return number(value, i.rank.emplace());
    const std::pair<std::string_view, std::string*> texts[] = {
      {"tool", &i.tool},           {"run", &i.run},       {"host", &i.host},
      {"exe", &i.executable},      {"cwd", &i.directory}, {"device", &i.device},
      {"core_dump", &i.core_dump}, {"python", &i.python}, {"python_frames", &i.python_frames},
      {"crash", &i.crash}};
    for (const auto& [name, text] : texts) {
      if (key == name) *text = value;
    }
    if (key.starts_with("option.") && i.options.size() < kMostOptions)
      i.options[std::string(key.substr(7))] = value;
    if (key.starts_with("arg.")) return argument(key.substr(4), std::move(value));
    return true; // a key of a later minor
  }

  bool driver(std::string_view value) {
    std::uint32_t version = 0;
    if (!number(value, version)) return false;
    dir_.info.driver_version =
      cat({std::to_string(version / 1000), ".", std::to_string(version % 1000 / 10)});
    return true;
  }

  bool argument(std::string_view index, std::string value) {
    std::size_t at = 0;
    if (!number(index, at) || at >= kMostArguments) return false;
    auto& arguments = dir_.info.arguments;
    if (arguments.size() <= at) arguments.resize(at + 1);
    arguments[at] = std::move(value);
    return true;
  }

  bool module_line(const std::vector<std::string_view>& f) {
    const auto hex = [](std::string_view text) { return parse_number<std::uint64_t>(text, 16); };
    if (f.size() == 3 && f[0] == "-") {
      const auto order = hex(f[1]), start = hex(f[2]);
      if (!order || !start) return false;
      const auto loaded = loaded_.find(*start);
      if (loaded == loaded_.end()) return modules_left_out_ != 0;
      dir_.modules[loaded->second].unloaded = *order;
      loaded_.erase(loaded);
      return true;
    }
    if (f.size() == 4 && f[0] == "=") {
      const auto start = hex(f[1]), begin = hex(f[2]), end = hex(f[3]);
      if (!start || !begin || !end || dir_.modules.empty()) return false;
      if (modules_left_out_ != 0) return true; // of one of them
      Module& m = dir_.modules.back();
      if (m.start != *start || *begin >= *end || *begin < m.start || *end > m.end) return false;
      if (m.variables.size() == kMostVariables) return false;
      m.variables.emplace_back(*begin, *end);
      return true;
    }
    if (f.size() != 7 || f[0] != "+") return false;
    const auto order = hex(f[1]), start = hex(f[2]), end = hex(f[3]), bias = hex(f[4]);
    if (!order || !start || !end || !bias || *start >= *end) return false;
    if (dir_.modules.size() == kMostModules) {
      ++modules_left_out_;
      return true;
    }
    loaded_[*start] = dir_.modules.size();
    dir_.modules.push_back({.start = *start,
                            .end = *end,
                            .bias = *bias,
                            .build_id = f[5] == "-" ? std::string() : std::string(f[5]),
                            .path = unescape(f[6]),
                            .loaded = *order});
    return true;
  }

  TraceDir& dir_;
  std::unordered_map<std::uint64_t, std::size_t> loaded_; // modules, by where they begin
  std::uint64_t modules_left_out_ = 0;
};

// Everything that can be wrong with the path itself; empty if nothing is.
std::string problem_of_path(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return cat({"no such trace: ", path.string()});
  if (error) return cat({"cannot open ", path.string(), ": ", error.message()});
  if (status.type() != fs::file_type::directory) {
    return cat({path.string(),
                " is no trace: that is a folder gpumemtrace.<program>.<host>.<pid>, or a file that "
                "'gpumemtrace pack' made"});
  }
  const fs::directory_iterator entries(path, error);
  if (error) return cat({"cannot read the trace ", path.string(), ": ", error.message()});
  if (is_trace(path)) return {};
  for (const fs::directory_entry& entry : entries) {
    if (is_trace(entry.path())) {
      return cat({path.string(), " is not a trace but holds traces; pass them, for example ",
                  entry.path().string()});
    }
  }
  return cat({path.string(), " is not a trace: it has no file 'info'"});
}

std::string problem_of_version(const TraceDir& dir) {
  const TraceInfo& info = dir.info;
  if (info.major == trace::kFormatMajor) return {};
  if (info.major == 0)
    return cat({"the trace ", dir.path.string(), " is damaged: 'info' names no format"});
  return cat({"the trace ", dir.path.string(), " has format ", std::to_string(info.major), ".",
              std::to_string(info.minor), ", written by gpumemtrace ",
              info.tool.empty() ? "(unknown)" : info.tool, "; this version reads format ",
              std::to_string(trace::kFormatMajor), ".x: use the version that wrote it",
              info.major > trace::kFormatMajor ? " or a newer one" : ""});
}

void add_device_file(TraceDir& dir, const fs::path& file) {
  const bool ring = file.extension() == ".ring"; // of a running process: a link
  if (!ring && (file.extension() != ".log" || !is_file_in_folder(file))) return;
  const std::string name = file.stem().string();
  auto at = std::ranges::find(dir.device_logs, name, &DeviceLogFiles::name);
  if (at == dir.device_logs.end())
    at = dir.device_logs.insert(at, {.name = name, .log = {}, .ring = {}});
  (ring ? at->ring : at->log) = file;
}

void find_logs(TraceDir& dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir.path, error)) {
    const fs::path& log = entry.path();
    const std::string name = log.filename().string();
    if (name.starts_with("device-")) add_device_file(dir, log);
    else if (!is_file_in_folder(log)) continue;
    else if (name.starts_with("access-") && log.extension() == ".log")
      dir.access_logs.push_back(log);
    else if (const fs::path own = name_of_log(log); !own.empty()) dir.logs.push_back(own);
  }
  std::ranges::sort(dir.logs);
  // One that is just being packed
  dir.logs.erase(std::unique(dir.logs.begin(), dir.logs.end()), dir.logs.end());
  std::ranges::sort(dir.access_logs);
  std::ranges::sort(dir.device_logs, {}, &DeviceLogFiles::name);
}

} // namespace

fs::path name_of_log(const fs::path& file) {
  const fs::path name = file.extension() == kPackedEnd ? fs::path(file).replace_extension() : file;
  return name.extension() == ".log" ? name : fs::path();
}

std::vector<fs::path> images_of(const fs::path& trace) {
  std::vector<fs::path> images;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(trace, error)) {
    if (entry.path().filename().string().starts_with("image-")) images.push_back(entry.path());
  }
  std::ranges::sort(images);
  return images;
}

bool is_trace(const fs::path& path) { return is_file_in_folder(path / "info"); }

TraceHead read_head(const fs::path& trace) {
  TraceDir dir;
  TraceHead head{.path = trace, .info = {}, .damaged_lines = 0, .core_dumps = {}, .problem = {}};
  if (const auto text = read_text(trace / "info", kMostShortBytes, head.problem))
    Parser(dir).info(*text);
  head.info = std::move(dir.info);
  head.damaged_lines = dir.damaged_lines;
  return head;
}

Expected<TraceDir> open_trace(const fs::path& path) { return open_trace(read_head(path)); }

Expected<TraceDir> open_trace(TraceHead head) {
  TraceDir dir;
  dir.path = std::move(head.path);
  dir.info = std::move(head.info);
  dir.damaged_lines = head.damaged_lines;
  Parser parser(dir);
  std::string problem = problem_of_path(dir.path);
  if (problem.empty()) problem = std::move(head.problem);
  if (problem.empty()) problem = problem_of_version(dir);
  const auto text_of = [&](const char* name) -> std::optional<std::string> {
    if (!problem.empty()) return std::nullopt;
    const bool is_long = std::string_view(name) == "modules";
    const std::size_t most = is_long ? kMostTextBytes : kMostShortBytes;
    std::optional<std::string> text = read_text(dir.path / name, most, problem);
    if (text && text->size() == most)
      dir.left_out.push_back(
        cat({"what is behind the first ", format_bytes(most), " of the trace's file ", name}));
    return text;
  };
  if (const auto text = text_of("apis")) parser.apis(*text);
  if (const auto text = text_of("modules")) parser.modules(*text);
  move_reused(dir.modules);
  if (const auto text = text_of("complete")) parser.completion(*text);
  if (const auto text = text_of("core-dump"))
    dir.core_dumps = parse_core_dumps(*text, dir.damaged_lines);
  std::ranges::move(head.core_dumps, std::back_inserter(dir.core_dumps));
  if (!problem.empty()) return UserError(problem, ExitStatus::kUnreadableTrace);
  find_logs(dir);
  return dir;
}

} // namespace gmt
