// SPDX-License-Identifier: Apache-2.0
// The Trace Event Format (JSON) that ui.perfetto.dev and other viewers of traces open: device
// memory as counters, calls as slices, NVTX ranges, findings as instants. The size is bounded:
// slices of calls are left out first, and the report says how many.
#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyzer/analysis/history/range_lanes.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/perfetto_shared.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::perfetto {
namespace {

constexpr std::string_view kBetween = ",\n"; // behind each event

// A string of JSON, quotes included.
std::string json_text(std::string_view text) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, replace);
}

std::vector<std::string> all_json_texts(const std::vector<std::string>& names,
                                        bool is_linked = false) {
  std::vector<std::string> result;
  for (const std::string& name : names)
    result.push_back(json_text(is_linked ? demangle(name) : name));
  return result;
}

// Times of the report: microseconds from the first call of all processes on.
class Clock {
public:
  Clock(const Timeline& timeline, std::uint64_t offset_ns)
      : first_(timeline.begin), // a tick counts as a nanosecond where its length is not known
        scale_((timeline.nanoseconds_per_unit > 0 ? timeline.nanoseconds_per_unit : 1) / 1000),
        offset_(static_cast<double>(offset_ns) / 1000) {}
  std::string at(std::uint64_t units) const {
    return fmt::format("{:.3f}", offset_ + static_cast<double>(units) * scale_);
  }
  std::string length(std::uint64_t units) const {
    return fmt::format("{:.3f}", static_cast<double>(units) * scale_);
  }
  std::string moment(std::uint64_t time) const { return at(time - std::min(time, first_)); }

private:
  std::uint64_t first_;
  double scale_, offset_;
};

// The events of one process. Viewers take processes of one number for one.
class ProcessEvents {
public:
  ProcessEvents(const Report& report, const OutputOptions& options, const ShownProcess& shown)
      : report_(report), options_(options), index_(shown.index),
        process_(report.processes[shown.index]), timeline_(*process_.timeline),
        clock_(timeline_, shown.offset_ns), pid_(shown.pid) {}

  std::string names(std::uint64_t left_out) const;
  std::string counters() const;
  std::string ranges() const;
  std::string findings() const;
  // Of the calls in the order of their begin. With a room, the most important ones that fit into it
  std::string slices() const;
  std::string slices_within(std::size_t room, std::uint64_t& left_out) const;

private:
  std::string range_event(const MemoryHistory::Range& range, std::size_t number) const;
  std::string finding_event(const ReportedFinding& finding) const;
  void add_slice(const Timeline::Slice& slice, std::string& out) const;
  std::string metadata(std::string_view event, std::uint64_t thread, std::string_view name,
                       std::string_view field = "name") const {
    return fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"{}":{}}}}},)"
                       "\n",
                       pid_, thread, event, field, json_text(name));
  }

  const Report& report_;
  const OutputOptions& options_;
  const std::size_t index_;
  const ProcessReport& process_;
  const Timeline& timeline_;
  const Clock clock_;
  const std::uint64_t pid_;
  const std::vector<std::string> calls_ = all_json_texts(timeline_.calls);
  const std::vector<std::string> kernels_ = all_json_texts(timeline_.kernels, true);
};

std::string ProcessEvents::names(std::uint64_t left_out) const {
  std::string out = metadata("process_name", 0, tools::process_name(report_, index_));
  const std::string label = labels_of(timeline_, left_out);
  if (!label.empty()) out += metadata("process_labels", 0, label, "labels");
  std::set<std::uint32_t> with_ranges;
  for (const MemoryHistory::Range& range : timeline_.ranges) with_ranges.insert(range.thread);
  for (const Timeline::Thread& thread : timeline_.threads) {
    const std::string name = name_of(thread);
    out += metadata("thread_name", thread.number, name);
    if (with_ranges.contains(thread.number))
      out += metadata("thread_name", thread.number + std::uint64_t{kRangeThreads}, "NVTX: " + name);
  }
  return out;
}

std::string ProcessEvents::counters() const {
  std::string out;
  for (const Timeline::Counter& counter : timeline_.counters) {
    const std::string name = json_text(name_of(counter));
    for (const Timeline::Sample& sample : counter.samples) {
      fmt::format_to(std::back_inserter(out),
                     R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"bytes":{}}}}},)"
                     "\n",
                     pid_, clock_.at(sample.time), name, sample.bytes);
    }
  }
  return out;
}

// Ranges of a thread lie inside each other; those of the process may overlap.
std::string ProcessEvents::range_event(const MemoryHistory::Range& range,
                                       std::size_t number) const {
  const std::string name = json_text(range.name);
  if (range.thread != RangeLanes::kProcess) {
    return fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"nvtx","name":{}}},)"
                       "\n",
                       pid_, range.thread + std::uint64_t{kRangeThreads}, clock_.at(range.begin),
                       clock_.length(range.end - range.begin), name);
  }
  const auto half = [&](char phase, std::uint64_t time) {
    return fmt::format(
      R"({{"ph":"{}","pid":{},"tid":0,"ts":{},"cat":"nvtx","id2":{{"local":"{}"}},"name":{}}},)"
      "\n",
      phase, pid_, clock_.at(time), number, name);
  };
  return half('b', range.begin) + half('e', range.end);
}

std::string ProcessEvents::ranges() const {
  std::string out;
  std::size_t number = 0;
  for (const MemoryHistory::Range& range : timeline_.ranges) out += range_event(range, ++number);
  return out;
}

std::string ProcessEvents::finding_event(const ReportedFinding& finding) const {
  using Json = nlohmann::ordered_json;
  Json arguments = {{"severity", tools::severity_word(finding.severity)},
                    {"message", finding.message}};
  if (!finding.advice.empty()) arguments["advice"] = finding.advice;
  if (finding.bytes != 0) arguments["bytes"] = finding.bytes;
  arguments["count"] = finding.count;
  if (!finding.range.empty()) arguments["range"] = finding.range;
  arguments["fingerprint"] = finding.fingerprint;
  const SourcePaths paths(report_, options_.source_root);
  arguments["stacks"] = tools::stacks_text(finding, paths, options_.stack_depth);
  const auto replace = Json::error_handler_t::replace;
  // Where the moment is not known, the finding belongs to the end of the process.
  const std::string when =
    finding.moment ? clock_.moment(finding.moment->time) : clock_.at(timeline_.end);
  return fmt::format(
    R"({{"ph":"i","s":"{}","pid":{},"tid":{},"ts":{},"cat":"finding","name":{},"args":{}}},)"
    "\n",
    finding.moment ? 't' : 'p', pid_, finding.moment ? finding.moment->thread : 0, when,
    json_text(finding.kind), arguments.dump(-1, ' ', false, replace));
}

std::string ProcessEvents::findings() const {
  std::string out;
  const std::size_t shown = tools::shown_findings(report_, options_);
  for (std::size_t i = 0; i < shown; ++i) {
    if (report_.findings[i].process == index_) out += finding_event(report_.findings[i]);
  }
  return out;
}

void ProcessEvents::add_slice(const Timeline::Slice& slice, std::string& out) const {
  auto to = std::back_inserter(out);
  fmt::format_to(to, R"({{"ph":"{}","pid":{},"tid":{},"ts":{},)", slice.ticks != 0 ? 'X' : 'i',
                 pid_, slice.thread, clock_.at(slice.begin));
  if (slice.ticks != 0) fmt::format_to(to, R"("dur":{},)", clock_.length(slice.ticks));
  else out += R"("s":"t",)"; // how long it took is not known
  fmt::format_to(to, R"("cat":"cuda","name":{})", calls_[slice.call]);
  const bool has_kernel = slice.kernel < kernels_.size();
  const bool is_refused = slice.result != 0;
  if (slice.bytes != 0 || has_kernel || is_refused) {
    std::string arguments;
    if (slice.bytes != 0) arguments += fmt::format(",\"bytes\":{}", slice.bytes);
    if (has_kernel) arguments += ",\"kernel\":" + kernels_[slice.kernel];
    if (is_refused) arguments += ",\"result\":" + json_text(result_of(slice));
    fmt::format_to(to, ",\"args\":{{{}}}", arguments.substr(1));
  }
  out += "},\n";
}

std::string ProcessEvents::slices() const {
  std::string out;
  for (const Timeline::Slice& slice : timeline_.slices) add_slice(slice, out);
  return out;
}

std::string ProcessEvents::slices_within(std::size_t room, std::uint64_t& left_out) const {
  std::vector<const Timeline::Slice*> order;
  for (const Timeline::Slice& slice : timeline_.slices) order.push_back(&slice);
  std::ranges::stable_sort(order, [](const Timeline::Slice* a, const Timeline::Slice* b) {
    return is_less_important(*b, *a);
  });
  std::string out, one;
  for (std::size_t i = 0; i < order.size(); ++i) {
    one.clear();
    add_slice(*order[i], one);
    if (out.size() + one.size() > room) {
      left_out += order.size() - i;
      break;
    }
    out += one;
  }
  return out;
}

void write_perfetto(const Report& report, const OutputOptions& options, std::ostream& stream) {
  std::vector<ProcessEvents> processes;
  for (const ShownProcess& shown : shown_processes(report))
    processes.emplace_back(report, options, shown);
  stream << fmt::format(
    R"({{"displayTimeUnit":"ns","otherData":{{"tool":"gpumemtrace","version":{},"conclusion":{}}},)"
    R"("traceEvents":[)"
    "\n",
    json_text(report.tool_version), json_text(in_words(report.conclusion)));
  constexpr std::size_t kNames = 160; // the label of a process, and its share of the first line
  std::size_t used = 0, slice_bytes = 0;
  std::vector<std::string> details, slices;
  for (const ProcessEvents& process : processes) {
    details.push_back(process.counters() + process.ranges() + process.findings());
    slices.push_back(process.slices());
    used += details.back().size() + process.names(0).size() + kNames;
    slice_bytes += slices.back().size();
  }
  const std::size_t room =
    options.perfetto_size - std::min<std::uint64_t>(used, options.perfetto_size);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    std::uint64_t left_out = 0;
    if (slice_bytes > room) {
      const double share = static_cast<double>(slices[i].size()) / static_cast<double>(slice_bytes);
      slices[i] = processes[i].slices_within(
        static_cast<std::size_t>(share * static_cast<double>(room)), left_out);
    }
    std::string events = processes[i].names(left_out) + details[i];
    events += slices[i];
    slices[i] = {};
    if (i + 1 == processes.size()) events.resize(events.size() - kBetween.size());
    stream << events;
  }
  stream << "\n]}\n";
}

const OutputRegistration kPerfetto{
  {.id = "perfetto",
   .title = "memory, calls, ranges and findings over time, for ui.perfetto.dev",
   .write = write_perfetto,
   .needs_timeline = true}};

} // namespace
} // namespace gmt::perfetto
