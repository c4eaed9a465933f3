// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/formats/perfetto_shared.h"

#include <set>

#include "analyzer/base/text_format.h"

namespace gmt::perfetto {
namespace {

std::uint64_t first_realtime(const Report& report) {
  std::uint64_t first = 0;
  for (const ProcessReport& process : report.processes) {
    const std::uint64_t begin = process.timeline ? process.timeline->begin_realtime : 0;
    if (begin != 0 && (first == 0 || begin < first)) first = begin;
  }
  return first;
}

} // namespace

std::vector<ShownProcess> shown_processes(const Report& report) {
  constexpr std::uint64_t kBeyondPids = 10'000'000;
  std::vector<ShownProcess> all;
  std::set<std::uint64_t> taken;
  const std::uint64_t first = first_realtime(report);
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    if (!report.processes[i].timeline) continue;
    ShownProcess shown{i, report.processes[i].pid, 0};
    while (!taken.insert(shown.pid).second) shown.pid += kBeyondPids;
    const std::uint64_t begin = report.processes[i].timeline->begin_realtime;
    if (first != 0 && begin > first) shown.offset_ns = begin - first;
    all.push_back(shown);
  }
  return all;
}

std::string labels_of(const Timeline& timeline, std::uint64_t left_out_by_format) {
  std::string label;
  const auto add = [&label](const std::string& text) {
    label += (label.empty() ? "" : "; ") + text;
  };
  const std::uint64_t left_out = left_out_by_format + timeline.left_out_slices;
  if (left_out != 0) add(format_plural(left_out, "call") + " left out, the shortest ones");
  if (timeline.left_out_ranges != 0)
    add(format_plural(timeline.left_out_ranges, "NVTX range") + " left out");
  if (timeline.nanoseconds_per_unit <= 0)
    add("times are ticks of the processor's clock, shown as nanoseconds");
  return label;
}

std::string name_of(const Timeline::Thread& thread) {
  return thread.name.empty() ? "thread " + std::to_string(thread.number) : thread.name;
}

std::string name_of(const Timeline::Counter& counter) {
  return (counter.device < 0 ? "unknown device" : "device " + std::to_string(counter.device)) +
         ": " + counter.memory;
}

std::string result_of(const Timeline::Slice& slice) {
  if (slice.result == 0) return {};
  if (slice.result == kResultInFlight) return "did not return";
  return error_name(slice.result, slice.is_runtime);
}

} // namespace gmt::perfetto
