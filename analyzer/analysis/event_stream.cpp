// SPDX-License-Identifier: Apache-2.0
// Opens all logs of a trace and keeps the facts that records bring: names of handles, last words.

#include "analyzer/analysis/event_stream.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "analyzer/base/path.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/analysis/owners.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxOpenLogs = 400; // well under the usual 1,024 descriptors

// True while the process that writes this trace is still there: same number and same program on this machine.
bool is_running(const TraceInfo& info) {
  if (info.pid == 0 || info.executable.empty()) return false;
  std::error_code error;
  const fs::path program = fs::read_symlink(fs::path("/proc") / std::to_string(info.pid) / "exe", error);
  return !error && program == info.executable;
}

std::string name_of_this_host() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// The string of a kName or kText record; nothing if its length makes no sense.
template <class View> std::optional<std::string> text_of(const View& record) {
  const trace::Payload text = record.text();
  if (record.length() > text.bytes()) return std::nullopt;
  return std::string(text.text(), static_cast<std::size_t>(record.length()));
}

// From the clock pairs at the trace's beginning and end; 0 without an end.
double clock_speed(const TraceDir& trace) {
  if (!trace.completion || trace.info.tsc == 0 || trace.completion->tsc <= trace.info.tsc ||
      trace.completion->monotonic_ns <= trace.info.monotonic_ns) {
    return 0;
  }
  return static_cast<double>(trace.completion->monotonic_ns - trace.info.monotonic_ns) /
         static_cast<double>(trace.completion->tsc - trace.info.tsc);
}

} // namespace

std::uint64_t ReadStats::lost() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : total.lost) sum = sum > UINT64_MAX - n ? UINT64_MAX : sum + n;
  return sum;
}

EventStream::EventStream(TraceDir trace, AnalysisOptions options)
    : options_(std::move(options)), trace_(std::move(trace)) {
  std::vector<std::unique_ptr<LogReader>> logs;
  const bool keep_open = trace_.logs.size() <= kMaxOpenLogs;
  for (const fs::path& log : trace_.logs) {
    logs.push_back(
      std::make_unique<LogReader>(log, static_cast<std::uint32_t>(logs.size()), stacks_, keep_open));
  }
  merge_ = std::make_unique<Merge>(std::move(logs));
  nanoseconds_per_tick_ = clock_speed(trace_);
  find_static_ranges();
  conclude();
}

void EventStream::find_static_ranges() {
  for (std::size_t i = 0; i < trace_.modules.size(); ++i) {
    for (const auto& [begin, end] : trace_.modules[i].variables) static_ranges_.push_back({begin, end, i});
  }
  std::ranges::sort(static_ranges_, {}, &StaticRange::begin);
  std::uint64_t reach = 0;
  for (StaticRange& range : static_ranges_) range.reach = reach = std::max(reach, range.end);
}

// Arguments of kernels lead to device memory, and so to the same gap, again and again.
const Module* EventStream::static_module(std::uint64_t address) const {
  if (address >= gap_begin_ && address < gap_end_) return nullptr;
  const auto next = std::ranges::upper_bound(static_ranges_, address, {}, &StaticRange::begin);
  for (auto at = next; at != static_ranges_.begin() && (--at)->reach > address;) {
    const Module& module = trace_.modules[at->module];
    if (address < at->end && module.loaded <= now_ && now_ < module.unloaded) return &module;
  }
  const std::uint64_t before = next != static_ranges_.begin() ? std::prev(next)->reach : 0;
  if (before <= address) {
    gap_begin_ = before;
    gap_end_ = next != static_ranges_.end() ? next->begin : UINT64_MAX;
  }
  return nullptr;
}

StaticVariable EventStream::static_variable(std::uint64_t address) const {
  const Module* module = static_module(address);
  return module != nullptr && options_.find_static ? options_.find_static(*module, address) : StaticVariable{};
}

const Event* EventStream::next() {
  const Event* e = merge_->next();
  if (e == nullptr) {
    conclude();
  } else if (e->kind < trace::Kind::kAlloc) {
    note(*e);
  }
  if (e == nullptr) return nullptr;
  if (e->thread != recent_threads_[e->thread % kRecentThreads]) note_thread(*e);
  ranges_.follow(*e);
  gaps_.follow(*e);
  now_ = trace::order_of(e->order);
  return e;
}

void EventStream::note(const Event& e) {
  switch (e.kind) {
  case trace::Kind::kName: note_name(e); break;
  case trace::Kind::kText:
    if (auto text = text_of(trace::TextView(e))) texts_[trace::TextView(e).id()] = std::move(*text);
    break;
  case trace::Kind::kKernel: note_kernel(e); break;
  case trace::Kind::kDevice: note_device(e); break;
  case trace::Kind::kRange:
    ranges_.on_range(e);
    if (const trace::RangeView range(e); range.op() == trace::RangeOp::kNameResource) {
      names_[range.named()] = text(range.text());
    }
    break;
  case trace::Kind::kExit: note_exit(e); break;
  default: break;
  }
}

std::string_view EventStream::handle_name(std::uint64_t handle) const {
  const auto found = names_.find(handle);
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

const Kernel* EventStream::kernel(std::uint64_t function) const {
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : &found->second;
}

const DeviceFacts* EventStream::device(int ordinal) const {
  const auto found = devices_.find(ordinal);
  return found == devices_.end() ? nullptr : &found->second;
}

std::vector<unsigned> EventStream::architectures() const {
  std::vector<unsigned> result;
  for (const auto& [ordinal, facts] : devices_) result.push_back(facts.compute_capability);
  return result;
}

// Network cards, disks and the host that read and write device memory themselves, and ray tracing, whose
// launches take the driver's inner entries.
std::string_view EventStream::unseen_user() const {
  static constexpr std::string_view kUsers[] = {"libibverbs", "libcufile", "libgdrapi", "libnvoptix"};
  for (const Module& module : trace_.modules) {
    const std::string_view file = base_name(module.path);
    for (const std::string_view user : kUsers) {
      if (file.starts_with(user) && file.substr(user.size()).starts_with(".so")) return user;
    }
  }
  return {};
}

std::string_view EventStream::text(std::uint64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? std::string_view() : std::string_view(found->second);
}

Caller EventStream::caller(StackId stack) const {
  const Module* module = calling_module(trace_.modules, stacks_.frames(stack));
  return module == nullptr ? Caller() : Caller{module->path, owner_of_module(module->path)};
}

std::uint64_t EventStream::realtime(const Event& e) const {
  const TraceInfo& info = trace_.info;
  if (nanoseconds_per_tick_ <= 0 || info.realtime_ns == 0 || e.time < info.tsc) return 0;
  return info.realtime_ns + static_cast<std::uint64_t>(nanoseconds(e.time - info.tsc));
}

void EventStream::note_name(const Event& e) {
  const trace::NameView view(e);
  std::optional<std::string> name = text_of(view);
  if (!name) return;
  if (const auto kernel = kernels_.find(view.handle()); kernel != kernels_.end()) kernel->second.name = *name;
  names_[view.handle()] = std::move(*name);
}

// A handle may be given out again for another function: the newest description counts, its name follows it.
void EventStream::note_kernel(const Event& e) {
  const trace::KernelView view(e);
  const trace::Payload words = view.parameters();
  if (view.parameter_count() > words.size()) return;
  Kernel& kernel = kernels_[view.function()];
  kernel = {};
  for (std::size_t i = 0; i < view.parameter_count(); ++i) {
    const auto [offset, bytes] = trace::halves_of(words[i]);
    kernel.parameters.push_back({offset, bytes});
  }
}

void EventStream::note_device(const Event& e) {
  const trace::DeviceView device(e);
  devices_[static_cast<int>(device.ordinal())] = {
    .name = std::string(text(device.name())),
    .bytes = device.bytes(),
    .texture_alignment = device.texture_alignment(),
    .texture_pitch_alignment = device.texture_pitch_alignment(),
    .surface_alignment = device.surface_alignment(),
    .largest_pitch = device.largest_pitch(),
    .compute_capability = static_cast<std::uint32_t>(device.compute_capability()),
    .reads_pageable_memory = device.reads_pageable_memory() != 0,
    .uses_host_page_tables = device.uses_host_page_tables() != 0,
    .concurrent_managed = device.concurrent_managed() != 0};
}

void EventStream::note_exit(const Event& e) {
  const trace::ExitView exit(e);
  const trace::ExitWay way = exit.way();
  exit_recorded_ = way != trace::ExitWay::kExecFailed;
  switch (way) {
  case trace::ExitWay::kExit:
  case trace::ExitWay::kUnderscoreExit:
    last_words_ = {.how = Ending::How::kExited, .status = static_cast<int>(exit.status() & 0xff)};
    break;
  case trace::ExitWay::kExec: last_words_ = {.how = Ending::How::kExec}; break;
  case trace::ExitWay::kExecFailed: last_words_ = {}; break;
  }
}

// The parent knows best, except that it cannot see an exec: what it saw end was the next program.
void EventStream::conclude() {
  if (last_words_.how == Ending::How::kExec) {
    ending_ = last_words_;
  } else if (trace_.completion && trace_.completion->ending.how != Ending::How::kUnknown) {
    ending_ = trace_.completion->ending;
  } else if (is_running(trace_.info)) {
    ending_ = {.how = Ending::How::kRunning};
  } else {
    ending_ = last_words_;
  }
  // Of a process elsewhere that said no last words nobody here knows.
  may_be_running_ = ending_.how == Ending::How::kRunning ||
                    (ending_.how == Ending::How::kUnknown && trace_.info.host != name_of_this_host());
}

std::uint64_t EventStream::lost_records() const { return stats().lost() + missing_records(); }

// Since 1.5 an order without a record has a reason that the trace tells.
std::uint64_t EventStream::missing_records() const {
  return is_judged_for_gaps() ? gaps_.missing(stats().total, exit_recorded_) : 0;
}

// One that only tells how the process ends is none that the report speaks of.
void EventStream::note_thread(const Event& e) {
  if (!is_call(e.kind)) return;
  recent_threads_[e.thread % kRecentThreads] = e.thread;
  if (merge_->logs()[e.log]->stats().tells_threads) threads_.insert(e.thread);
}

// A log that does not tell its threads apart counts as one.
std::uint64_t EventStream::threads() const {
  const auto silent = [](const auto& log) { return !log->stats().tells_threads; };
  return threads_.size() + static_cast<std::uint64_t>(std::ranges::count_if(merge_->logs(), silent));
}

ReadStats EventStream::stats() const {
  ReadStats all;
  for (const auto& log : merge_->logs()) {
    const LogStats& s = log->stats();
    all.total.records += s.records;
    all.total.torn += s.torn;
    all.total.damaged += s.damaged;
    all.total.unknown_kinds += s.unknown_kinds;
    for (std::size_t i = 0; i < s.lost.size(); ++i) {
      std::uint64_t& sum = all.total.lost[i];
      sum = sum > UINT64_MAX - s.lost[i] ? UINT64_MAX : sum + s.lost[i];
    }
  }
  for (std::size_t i = 0; i < trace_.logs.size(); ++i) {
    const std::string& why = merge_->logs()[i]->stats().skipped;
    if (!why.empty()) all.skipped_logs.emplace_back(trace_.logs[i], why);
  }
  return all;
}

} // namespace gmt
