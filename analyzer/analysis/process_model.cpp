// SPDX-License-Identifier: Apache-2.0
// Keeps the facts that records bring, see process_model.h.

#include "analyzer/analysis/process_model.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "analyzer/analysis/owners.h"
#include "analyzer/base/path.h"
#include "analyzer/model/device_number.h"
#include "analyzer/symbols/frame_trim.h"

namespace gmt {

ProcessModel::ProcessModel(const EventStream& stream, const AnalysisOptions& options)
    : stream_(stream), trace_(stream.trace()), options_(options), names_(trace_.apis),
      clock_(trace_), static_ranges_(trace_.modules), device_heaps_(names_, clock_),
      unrecorded_(trace_),
      may_be_running_(gmt::may_be_running(last_words_.ending(trace_), trace_.info)),
      known_calls_(trace_.apis.size()) {
  guard_.sampled = trace_.asks_for("guard_sample");
  guard_.asked = guard_.sampled || trace_.asks_for("guard");
  if (!trace_.core_dumps.empty()) launches_.keep_given_blocks();
  device_heaps_.read(trace_.device_logs);
  memory_access_.read(trace_.access_logs,
                      trace_.asks_for("coalescing") || trace_.asks_for("counters"),
                      options_.coalescing_floor);
}

EndOfTrace ProcessModel::end() {
  Ending ending = last_words_.ending(trace_);
  ending.at_run_limit = executions_.executions().run_over;
  may_be_running_ = gmt::may_be_running(ending, trace_.info);
  memory_access_.join(options_.find_code, architectures());
  return {.ending = ending,
          .lost_records = lost_so_far(),
          .device_contexts = device_heaps_.conclude(),
          .memory_access = memory_access_,
          .find_pointer_uses = options_.find_pointer_uses,
          .releases_lost_from = stream_.stats().total.releases_lost_from};
}

void ProcessModel::note(const Event& e) {
  names_.follow(e);
  switch (e.kind) {
  case EventKind::kName: note_name(e); break;
  case EventKind::kKernel: note_kernel(e); break;
  case EventKind::kDevice: note_device(e); break;
  case EventKind::kRange: ranges_.on_range(e); break;
  case EventKind::kExit: last_words_.follow(e); break;
  case EventKind::kExecution:
    executions_.follow(e, [this](std::uint64_t id) { return text(id); });
    // Behind it calls answer 702, of which "not checked" has the reason
    if (e.execution().op == trace::ExecutionOp::kStopped) ++fatal_faults_;
    break;
  case EventKind::kGuardCounts:
  case EventKind::kGuardExport: note_guard(e); break;
  case EventKind::kFault: fatal_faults_ += e.fault().gpu_error != 0 ? 1 : 0; break;
  default: break;
  }
}

void ProcessModel::note_name(const Event& e) {
  const event::Name& name = e.name();
  const auto kernel = kernels_.find(name.handle);
  if (kernel != kernels_.end() && name.is_whole)
    kernel->second.name = names_.handle_name(name.handle);
}

// A handle may be given out again for another function: the newest description counts, its name
// follows it.
void ProcessModel::note_kernel(const Event& e) {
  const event::Kernel& view = e.kernel();
  if (view.parameter_count > view.parameters.size()) return;
  Kernel& kernel = kernels_[view.function];
  kernel = {};
  for (const auto& [offset, bytes] : view.parameters) kernel.parameters.push_back({offset, bytes});
}

void ProcessModel::note_device(const Event& e) {
  const event::Device& device = e.device();
  if (device_number(device.ordinal) < 0) return;
  devices_[device_number(device.ordinal)] = {
    .name = std::string(text(device.name)),
    .bytes = device.bytes,
    .texture_alignment = device.texture_alignment,
    .texture_pitch_alignment = device.texture_pitch_alignment,
    .surface_alignment = device.surface_alignment,
    .largest_pitch = device.largest_pitch,
    .compute_capability = static_cast<std::uint32_t>(device.compute_capability),
    .reads_pageable_memory = device.reads_pageable_memory,
    .uses_host_page_tables = device.uses_host_page_tables,
    .concurrent_managed = device.concurrent_managed};
}

bool ProcessModel::fences_tensors() const {
  const auto mode = trace_.info.options.find("guard"); // its words by number
  return mode != trace_.info.options.end() && (mode->second == "3" || mode->second == "4");
}

bool ProcessModel::is_loaded(std::string_view words) const {
  return std::ranges::any_of(trace_.modules, [words](const Module& module) {
    return std::string_view(module.path).find(words) != std::string_view::npos;
  });
}

// Threads write the counts as they grow: the record with the highest ones is the newest.
void ProcessModel::note_guard(const Event& e) {
  if (e.kind == EventKind::kGuardExport) {
    ++guard_.exports;
    return;
  }
  const event::GuardCounts& counts = e.guard_counts();
  const auto raise = [](std::uint64_t& known, std::uint64_t now) { known = std::max(known, now); };
  raise(guard_.fenced, counts.fenced);
  raise(guard_.most_bytes, counts.most_bytes);
  raise(guard_.checked, counts.checked);
  raise(guard_.unchecked, counts.unchecked);
  raise(guard_.reused, counts.reused);
  for (std::size_t i = 0; i < guard_.plain.size(); ++i) raise(guard_.plain[i], counts.plain[i]);
}

// In which ranges blocks are allocated.
void ProcessModel::follow_blocks(const Heap& heap) {
  for (const Access& access : heap.accesses()) ranges_.on_access(access);
}

const Kernel* ProcessModel::kernel(std::uint64_t function) const {
  const auto found = kernels_.find(function);
  return found == kernels_.end() ? nullptr : &found->second;
}

const DeviceFacts* ProcessModel::device(int ordinal) const {
  const auto found = devices_.find(ordinal);
  return found == devices_.end() ? nullptr : &found->second;
}

std::vector<unsigned> ProcessModel::architectures() const {
  std::vector<unsigned> result;
  for (const auto& [ordinal, facts] : devices_) result.push_back(facts.compute_capability);
  return result;
}

Caller ProcessModel::caller(StackId stack) const {
  const std::span<const std::uint64_t> frames = stream_.stacks().frames(stack);
  const Module* module = calling_module(trace_.modules, frames);
  Caller caller;
  if (module != nullptr) caller = {module->path, owner_of_module(module->path)};
  caller.has_python = std::ranges::any_of(frames, PythonFrames::is_python);
  return caller;
}

std::vector<PythonLine> ProcessModel::python_lines(StackId stack) const {
  std::vector<PythonLine> lines;
  for (const std::uint64_t address : stream_.stacks().frames(stack)) {
    if (!PythonFrames::is_python(address) || PythonFrames::is_entry(address)) continue;
    const PythonFrames::Frame frame = stream_.stacks().python().find(address);
    if (frame.code != nullptr)
      lines.push_back({frame.code->function, frame.code->file, frame.line});
  }
  return lines;
}

// Network cards, disks and the host that read and write device memory themselves, and ray tracing,
// whose launches take the driver's inner entries.
std::string_view ProcessModel::unseen_user() const {
  static constexpr std::string_view kUsers[] = {"libibverbs", "libcufile", "libgdrapi",
                                                "libnvoptix"};
  for (const Module& module : trace_.modules) {
    const std::string_view file = base_name(module.path);
    for (const std::string_view user : kUsers) {
      if (file.starts_with(user) && file.substr(user.size()).starts_with(".so")) return user;
    }
  }
  return {};
}

StaticVariable ProcessModel::static_variable(std::uint64_t address) const {
  const Module* module = static_ranges_.find(address, now_);
  return module != nullptr && options_.find_static ? options_.find_static(*module, address)
                                                   : StaticVariable{};
}

std::uint64_t ProcessModel::missing_records() const {
  if (!is_checked_for_gaps()) return 0;
  LogStats known = stream_.stats().total;
  known.lost[static_cast<std::size_t>(trace::LossCause::kTraceLimit)] += unrecorded_.empty_orders();
  return gaps_.missing(known, exit_recorded());
}

std::uint64_t ProcessModel::lost_so_far() const {
  return stream_.stats().lost() + missing_records();
}

} // namespace gmt
