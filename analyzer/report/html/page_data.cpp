// SPDX-License-Identifier: Apache-2.0
// Rows of numbers are arrays of their columns, which is half the text.

#include "analyzer/report/html/page_data.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/html/source_lines.h"
#include "analyzer/report/shared/call_site.h"
#include "analyzer/report/shared/module_path.h"
#include "analyzer/report/shared/ranks.h"
#include "analyzer/report/source_text.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt::html {
namespace {

using Json = nlohmann::ordered_json;

// Each frame once, by its number.
class FrameTable {
public:
  std::size_t number_of(const Frame& frame) {
    const Key key{frame.function, frame.file,     frame.line,           frame.module,
                  frame.inlined,  frame.language, unknown_offset(frame)};
    const auto [at, is_new] = numbers_.try_emplace(key, rows_.size());
    if (is_new) rows_.push_back(row_of(frame));
    return at->second;
  }
  Json take() { return std::move(rows_); }

private:
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::string, bool, std::string,
                         std::uint64_t>;

  // What distinguishes frames that have no name.
  static std::uint64_t unknown_offset(const Frame& frame) {
    if (!frame.function.empty()) return 0;
    return frame.module.empty() ? frame.address : frame.module_offset;
  }
  static Json row_of(const Frame& frame) {
    Json row = {{"function", frame.function}, {"module", frame.module}};
    if (!frame.file.empty()) row["file"] = frame.file;
    if (!frame.file.empty()) row["line"] = frame.line;
    if (frame.function.empty()) row["offset"] = unknown_offset(frame);
    if (frame.inlined) row["inlined"] = true;
    if (frame.tail_call) row["tail_call"] = true;
    if (!frame.language.empty()) row["language"] = frame.language;
    if (is_cuda_frame(frame)) row["cuda"] = true;
    if (is_users_frame(frame)) row["users"] = true;
    return row;
  }

  std::map<Key, std::size_t> numbers_;
  Json rows_ = Json::array();
};

Json figures_of(const StackMemory& stack) {
  return {{"allocations", stack.allocations},
          {"allocated_bytes", stack.allocated_bytes},
          {"peak_bytes", stack.peak_bytes},
          {"live_bytes", stack.live_bytes},
          {"tensor_peak_bytes", stack.tensor_peak_bytes}};
}

Json columns_of(const MemoryHistory& history) {
  static constexpr const char* kNames[kActivities] = {"allocations", "frees", "copies",
                                                      "launches",    "waits", "failures"};
  Json low = Json::array(), high = Json::array(), last = Json::array();
  Json counts[kActivities];
  for (Json& count : counts) count = Json::array();
  for (const MemoryHistory::Column& column : history.columns) {
    low.push_back(column.low);
    high.push_back(column.high);
    last.push_back(column.last);
    for (std::size_t i = 0; i < kActivities; ++i) counts[i].push_back(column.counts[i]);
  }
  Json columns = {{"low", std::move(low)}, {"high", std::move(high)}, {"last", std::move(last)}};
  for (std::size_t i = 0; i < kActivities; ++i) columns[kNames[i]] = std::move(counts[i]);
  return columns;
}

using StackNumbers = std::unordered_map<std::uint32_t, std::size_t>; // by StackId

Json stack_or_null(StackId id, const StackNumbers& numbers) {
  const auto found = numbers.find(id.value);
  return found == numbers.end() ? Json(nullptr) : Json(found->second);
}

Json sets_of(const MemoryHistory& history, const StackNumbers& numbers) {
  Json sets = Json::array();
  for (const MemoryHistory::LayerSet& set : history.sets) {
    Json layers = Json::array();
    for (const MemoryHistory::Layer& layer : set.layers) {
      Json steps = Json::array();
      for (const auto& [column, bytes] : layer.steps) {
        steps.push_back(column);
        steps.push_back(bytes);
      }
      Json row = {{"name", layer.name}, {"most", layer.most}, {"steps", std::move(steps)}};
      if (layer.name.empty()) row["stack"] = stack_or_null(layer.stack, numbers);
      layers.push_back(std::move(row));
    }
    sets.push_back(
      {{"by", set.by}, {"layers", std::move(layers)}, {"other_layers", set.other_layers}});
  }
  return sets;
}

Json peak_of(const MemoryHistory& history) {
  Json times = Json::array(), bytes = Json::array();
  for (const MemoryHistory::Sample& sample : history.around_peak) {
    times.push_back(sample.time);
    bytes.push_back(sample.bytes);
  }
  return {{"time", history.peak_time}, {"times", std::move(times)}, {"bytes", std::move(bytes)}};
}

Json ranges_of(const MemoryHistory& history) {
  Json ranges = Json::array();
  for (const MemoryHistory::Range& range : history.ranges) {
    ranges.push_back({{"name", range.name},
                      {"begin", range.begin},
                      {"end", range.end},
                      {"thread", range.thread},
                      {"depth", range.depth},
                      {"open", range.is_open}});
  }
  return ranges;
}

Json segments_of(const CacheMap& map, const StackNumbers& numbers) {
  Json segments = Json::array();
  for (const CacheMap::Segment& segment : map.segments) {
    Json tensors = Json::array();
    for (const CacheMap::Tensors& held : segment.tensors) {
      tensors.push_back(held.offset);
      tensors.push_back(held.bytes);
      tensors.push_back(held.blocks);
      tensors.push_back(stack_or_null(held.stack, numbers));
    }
    segments.push_back(
      {{"device", segment.device}, {"bytes", segment.bytes}, {"tensors", std::move(tensors)}});
  }
  return segments;
}

Json cache_maps_of(const MemoryHistory& history, const StackNumbers& numbers) {
  Json maps = Json::array();
  for (const CacheMap& map : history.cache_maps) {
    Json devices = Json::array();
    for (const CacheMap::Device& device : map.devices) {
      Json others = Json::array();
      for (const auto& [library, bytes] : device.others)
        others.push_back(Json::array({library, bytes}));
      devices.push_back(
        {{"number", device.number},
         {"total_bytes", device.total_bytes},
         {"untraced_bytes", device.untraced_bytes ? Json(*device.untraced_bytes) : Json(nullptr)},
         {"others", std::move(others)}});
    }
    maps.push_back({{"moment", map.moment == CacheMap::Moment::kPeak ? "peak" : "refusal"},
                    {"time", map.time},
                    {"asked_bytes", map.asked_bytes},
                    {"segments", segments_of(map, numbers)},
                    {"other_segments", map.other_segments},
                    {"other_segment_bytes", map.other_segment_bytes},
                    {"devices", std::move(devices)}});
  }
  return maps;
}

// Of tensors, whose lines alone do not say where in a model they were made.
std::string title_of(const CallStack& stack, SourceFiles* sources) {
  if (std::string backward = backward_pass_of(stack); !backward.empty()) return backward;
  if (sources == nullptr || !stack.api.empty()) return {};
  const std::string module = module_path(stack, *sources);
  if (module.empty()) return {};
  const Frame& frame = stack.frames[shown_frame(stack)];
  return cat({base_name(frame.file), ":", std::to_string(frame.line), " in ", module});
}

Json history_of(const MemoryHistory& history, FrameTable& frames, SourceFiles* sources) {
  StackNumbers numbers;
  Json stacks = Json::array();
  for (const StackMemory& stack : history.stacks) {
    numbers.emplace(stack.stack.stack.value, stacks.size());
    Json row = figures_of(stack);
    row["api"] = stack.stack.api;
    if (std::string title = title_of(stack.stack, sources); !title.empty())
      row["title"] = std::move(title);
    Json& of_stack = row["frames"] = Json::array();
    for (const Frame& frame : stack.stack.frames) of_stack.push_back(frames.number_of(frame));
    stacks.push_back(std::move(row));
  }
  Json failures = Json::array();
  for (const MemoryHistory::Failure& failure : history.failures)
    failures.push_back({{"time", failure.time}, {"bytes", failure.bytes}});
  Json others = figures_of(history.other_stacks);
  others["stacks"] = history.other_stack_count;
  return {{"nanoseconds_per_unit", history.nanoseconds_per_unit},
          {"begin", history.begin},
          {"is_part", history.is_part},
          {"column_width", history.column_width},
          {"columns", columns_of(history)},
          {"sets", sets_of(history, numbers)},
          {"peak", peak_of(history)},
          {"failures", std::move(failures)},
          {"more_failures", history.more_failures},
          {"ranges", ranges_of(history)},
          {"more_ranges", history.more_ranges},
          {"cache_maps", cache_maps_of(history, numbers)},
          {"stacks", std::move(stacks)},
          {"other_stacks", std::move(others)}};
}

using Findings = std::vector<ReportedFinding>;

Json sources_of(const Report& report, const Findings& shown) {
  SourceLines sources;
  if (!report.with_sources) return Json::object();
  for (const ReportedFinding& finding : shown) {
    for (const LabelledStack& stack : finding.stacks) {
      for (const Frame& frame : stack.frames) sources.add(frame.file, frame.line);
    }
  }
  for (const ProcessReport& process : report.processes) {
    if (!process.accesses) continue;
    for (const AccessFigures& line : process.accesses->lines) sources.add(line.file, line.line);
  }
  Json files = Json::object();
  for (const auto& [file, lines] : sources.files()) {
    Json& texts = files[file] = Json::object();
    for (const auto& [line, text] : lines) texts[std::to_string(line)] = text;
  }
  return files;
}

// Findings that several processes have alike, and processes that differ from the others.
Json ranks_of(const Report& report, const Findings& shown) {
  const Peers peers = peers_of(report);
  Json equal = Json::array(), differing = Json::array();
  for (EqualFindings& findings : equal_findings(report, peers, shown))
    equal.push_back({{"findings", std::move(findings.all)}, {"where", std::move(findings.where)}});
  for (const Outlier& outlier : outliers(report, peers)) differing.push_back(outlier.words);
  return {{"noun", peers.noun()}, {"equal", std::move(equal)}, {"differing", std::move(differing)}};
}

} // namespace

Json page_data(const Report& report, std::size_t most_findings, const std::string& source_root) {
  const std::size_t count = std::min(report.findings.size(), most_findings);
  const Findings shown(report.findings.begin(),
                       report.findings.begin() + static_cast<std::ptrdiff_t>(count));
  FrameTable frames;
  SourceFiles files;
  SourceFiles* const sources = report.with_sources ? &files : nullptr;
  Json processes = Json::array();
  for (const ProcessReport& process : report.processes)
    processes.push_back(process.history ? history_of(*process.history, frames, sources)
                                        : Json(nullptr));
  Json drivers = Json::array();
  for (const ProcessReport& process : report.processes) drivers.push_back(process.driver_version);
  return {{"processes", std::move(processes)},
          {"drivers", std::move(drivers)},
          {"root", source_root},
          {"frames", frames.take()},
          {"sources", sources_of(report, shown)},
          {"ranks", ranks_of(report, shown)}};
}

} // namespace gmt::html
