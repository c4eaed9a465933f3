// SPDX-License-Identifier: Apache-2.0
// Perfetto's own form of a trace, see pftrace_packets.h.
#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis/history/range_lanes.h"
#include "analyzer/report/formats/perfetto_shared.h"
#include "analyzer/report/formats/pftrace_packets.h"
#include "analyzer/report/formats/tool_words.h"
#include "analyzer/report/output_format.h"
#include "analyzer/symbols/demangle.h"

namespace gmt::perfetto {
namespace {

class ProcessTracks {
public:
  ProcessTracks(const Report& report, const OutputOptions& options, const ShownProcess& shown,
                PacketStream& stream)
      : report_(report), options_(options), shown_(shown), process_(report.processes[shown.index]),
        timeline_(*process_.timeline), stream_(stream), number_(stream.next_number()),
        scale_(timeline_.nanoseconds_per_unit > 0 ? timeline_.nanoseconds_per_unit : 1) {
    ProtoMessage process, descriptor;
    process.number(ProcessField::pid, shown_.pid)
      .bytes(ProcessField::name, tools::clean_utf8(tools::process_name(report, shown.index)));
    if (const std::string labels = labels_of(timeline_, 0); !labels.empty())
      process.bytes(ProcessField::labels, labels);
    descriptor.message(TrackField::process, process);
    Track track(stream_, descriptor, number_);
    add_findings(track, nullptr);
  }

  void add_all() {
    add_threads();
    add_process_ranges();
    for (const Timeline::Counter& counter : timeline_.counters) add_counter(counter);
  }

private:
  std::uint64_t at(std::uint64_t units) const {
    return shown_.offset_ns + static_cast<std::uint64_t>(static_cast<double>(units) * scale_);
  }

  ProtoMessage child(const std::string& name) const {
    ProtoMessage descriptor;
    descriptor.number(TrackField::parent, number_).bytes(TrackField::name, tools::clean_utf8(name));
    return descriptor;
  }

  ProtoMessage thread(std::uint64_t number, const std::string& name) const {
    ProtoMessage own, descriptor;
    own.number(ThreadField::pid, shown_.pid)
      .number(ThreadField::tid, number)
      .bytes(ThreadField::name, tools::clean_utf8(name));
    return descriptor.message(TrackField::thread, own);
  }

  void add_threads() {
    std::unordered_map<std::uint32_t, std::vector<const Timeline::Slice*>> slices;
    for (const Timeline::Slice& slice : timeline_.slices) slices[slice.thread].push_back(&slice);
    std::unordered_map<std::uint32_t, std::vector<const MemoryHistory::Range*>> ranges;
    for (const MemoryHistory::Range& range : timeline_.ranges)
      ranges[range.thread].push_back(&range);
    for (const Timeline::Thread& one : timeline_.threads) {
      Track track(stream_, thread(one.number, name_of(one)), stream_.next_number());
      add_calls(track, slices[one.number], one.number);
      const auto& own = ranges[one.number];
      if (own.empty()) continue;
      Track lane(stream_, thread(one.number + kRangeThreads, "NVTX: " + name_of(one)),
                 stream_.next_number());
      Slices all(lane);
      for (const MemoryHistory::Range* range : sorted(own))
        all.add(at(range->begin), at(range->end), lane.event_name(range->name));
    }
  }

  // Those that hold others first.
  static std::vector<const MemoryHistory::Range*>
  sorted(std::vector<const MemoryHistory::Range*> ranges) {
    std::ranges::stable_sort(ranges, [](const auto* a, const auto* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
    });
    return ranges;
  }

  void add_calls(Track& track, const std::vector<const Timeline::Slice*>& slices,
                 std::uint32_t number) {
    const std::vector<const ReportedFinding*> findings = findings_of(&number);
    auto next = findings.begin();
    Slices all(track);
    const auto add_until = [&](std::uint64_t time) {
      for (; next != findings.end() && moment_of(**next) < time; ++next) {
        all.end_until(moment_of(**next));
        add_finding(track, **next);
      }
    };
    ProtoMessage fields;
    for (const Timeline::Slice* slice : slices) {
      add_until(at(slice->begin));
      fields.clear();
      add_arguments(track, *slice, fields);
      const std::uint64_t name = track.event_name(timeline_.calls[slice->call]);
      if (slice->ticks != 0) {
        all.add(at(slice->begin), at(slice->begin + slice->ticks), name, fields);
      } else { // how long it took is not known
        all.end_until(at(slice->begin));
        track.add(kInstant, at(slice->begin), name, fields);
      }
    }
    add_until(~std::uint64_t{0});
  }

  void add_arguments(Track& track, const Timeline::Slice& slice, ProtoMessage& fields) {
    ProtoMessage argument;
    if (slice.bytes != 0) {
      argument.number(AnnotationField::name_id, track.annotation_name("bytes"))
        .number(AnnotationField::number, slice.bytes);
      fields.message(EventField::annotations, argument);
    }
    const auto add_text = [&](const std::string& name, const std::string& value) {
      argument.clear();
      argument.number(AnnotationField::name_id, track.annotation_name(name))
        .number(AnnotationField::text_id, track.text(value));
      fields.message(EventField::annotations, argument);
    };
    if (slice.kernel < timeline_.kernels.size()) add_text("kernel", kernel(slice.kernel));
    if (const std::string result = result_of(slice); !result.empty()) add_text("result", result);
  }

  const std::string& kernel(std::uint32_t number) {
    if (kernels_.empty())
      for (const std::string& name : timeline_.kernels) kernels_.push_back(demangle(name));
    return kernels_[number];
  }

  // Ranges of the process may overlap: each lies in the first lane that has room.
  void add_process_ranges() {
    std::vector<std::vector<const MemoryHistory::Range*>> lanes;
    std::vector<const MemoryHistory::Range*> own;
    for (const MemoryHistory::Range& range : timeline_.ranges)
      if (range.thread == RangeLanes::kProcess) own.push_back(&range);
    for (const MemoryHistory::Range* range : sorted(own)) {
      auto lane = std::ranges::find_if(
        lanes, [range](const auto& one) { return one.back()->end <= range->begin; });
      if (lane == lanes.end()) lane = lanes.emplace(lanes.end());
      lane->push_back(range);
    }
    for (const auto& lane : lanes) {
      Track track(stream_, child("NVTX: the process"), stream_.next_number());
      Slices all(track);
      for (const MemoryHistory::Range* range : lane)
        all.add(at(range->begin), at(range->end), track.event_name(range->name));
    }
  }

  void add_counter(const Timeline::Counter& counter) {
    ProtoMessage unit, descriptor = child(name_of(counter)), value;
    unit.number(CounterField::unit, kBytesUnit);
    descriptor.message(TrackField::counter, unit);
    Track track(stream_, descriptor, stream_.next_number());
    for (const Timeline::Sample& sample : counter.samples) {
      value.clear();
      track.add(kCounter, at(sample.time), 0,
                value.number(EventField::counter_value, sample.bytes));
    }
  }

  // Of a thread, or (null) those that only the process's end shows.
  std::vector<const ReportedFinding*> findings_of(const std::uint32_t* thread) const {
    std::vector<const ReportedFinding*> found;
    const std::size_t shown = tools::shown_findings(report_, options_);
    for (std::size_t i = 0; i < shown; ++i) {
      const ReportedFinding& finding = report_.findings[i];
      if (finding.process != shown_.index) continue;
      const bool is_its = thread == nullptr ? !finding.moment || !is_shown(finding.moment->thread)
                                            : finding.moment && finding.moment->thread == *thread;
      if (is_its) found.push_back(&finding);
    }
    std::ranges::stable_sort(
      found, {}, [this](const ReportedFinding* finding) { return moment_of(*finding); });
    return found;
  }

  bool is_shown(std::uint32_t thread) const {
    return std::ranges::find(timeline_.threads, thread, &Timeline::Thread::number) !=
           timeline_.threads.end();
  }

  std::uint64_t moment_of(const ReportedFinding& finding) const {
    if (!finding.moment) return at(timeline_.end);
    return at(finding.moment->time - std::min(finding.moment->time, timeline_.begin));
  }

  void add_findings(Track& track, const std::uint32_t* thread) {
    for (const ReportedFinding* finding : findings_of(thread)) add_finding(track, *finding);
  }

  void add_finding(Track& track, const ReportedFinding& finding) {
    ProtoMessage fields, argument;
    fields.bytes(EventField::category, "finding")
      .bytes(EventField::name, tools::clean_utf8(finding.kind));
    const auto add_text = [&](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      argument.clear();
      argument.bytes(AnnotationField::name, name)
        .bytes(AnnotationField::text, tools::clean_utf8(value));
      fields.message(EventField::annotations, argument);
    };
    const auto add_number = [&](std::string_view name, std::uint64_t value) {
      argument.clear();
      argument.bytes(AnnotationField::name, name).number(AnnotationField::number, value);
      fields.message(EventField::annotations, argument);
    };
    add_text("severity", std::string(tools::severity_word(finding.severity)));
    add_text("message", finding.message);
    add_text("advice", finding.advice);
    if (finding.bytes != 0) add_number("bytes", finding.bytes);
    add_number("count", finding.count);
    add_text("range", finding.range);
    add_text("fingerprint", finding.fingerprint);
    const SourcePaths paths(report_, options_.source_root);
    add_text("stacks", tools::stacks_text(finding, paths, options_.stack_depth));
    track.add(kInstant, moment_of(finding), 0, fields);
  }

  const Report& report_;
  const OutputOptions& options_;
  const ShownProcess shown_;
  const ProcessReport& process_;
  const Timeline& timeline_;
  PacketStream& stream_;
  const std::uint64_t number_; // of its own track
  const double scale_;         // nanoseconds of a unit
  std::vector<std::string> kernels_;
};

void write_pftrace(const Report& report, const OutputOptions& options, std::ostream& out) {
  PacketStream stream(out);
  for (const ShownProcess& shown : shown_processes(report))
    ProcessTracks(report, options, shown, stream).add_all();
  stream.flush();
}

const OutputRegistration kPftrace{
  {.id = "pftrace",
   .title = "the same in Perfetto's own form, a twentieth of the size",
   .write = write_pftrace,
   .needs_timeline = true}};

} // namespace
} // namespace gmt::perfetto
