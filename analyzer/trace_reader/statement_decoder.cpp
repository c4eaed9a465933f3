// SPDX-License-Identifier: Apache-2.0
// Of what is no call: facts of the process, and what the simulated device and --guard found. Few
// events are such.

#include <algorithm>
#include <string_view>

#include "analyzer/trace_reader/event_decoder.h"

namespace gmt {
namespace {

using trace::Kind;

template <class View> std::string_view text_in(const View& view) {
  return {view.text().text(),
          static_cast<std::size_t>(std::min<std::uint64_t>(view.length(), view.text().bytes()))};
}

template <class View> bool has_whole_text(const View& view) {
  return view.length() <= view.text().bytes();
}

event::Kernel kernel_of(const trace::KernelView& view, EventParts& parts) {
  const std::size_t count = std::min<std::size_t>(view.parameter_count(), view.parameters().size());
  parts.parameters.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [offset, bytes] = trace::halves_of(view.parameters()[i]);
    parts.parameters.push_back({offset, bytes});
  }
  return {.function = view.function(),
          .parameter_count = view.parameter_count(),
          .parameters = parts.parameters};
}

const event::Device& device_of(const trace::DeviceView& view, event::Device& device) {
  device = {.ordinal = view.ordinal(),
            .bytes = view.bytes(),
            .texture_alignment = view.texture_alignment(),
            .texture_pitch_alignment = view.texture_pitch_alignment(),
            .surface_alignment = view.surface_alignment(),
            .largest_pitch = view.largest_pitch(),
            .compute_capability = view.compute_capability(),
            .reads_pageable_memory = view.reads_pageable_memory() != 0,
            .uses_host_page_tables = view.uses_host_page_tables() != 0,
            .concurrent_managed = view.concurrent_managed() != 0,
            .name = view.name()};
  return device;
}

const event::Fault& fault_of(const trace::FaultView& view, std::uint16_t flags,
                             event::Fault& fault) {
  fault = {.fault = view.fault(),
           .space = view.space(),
           .access = view.access(),
           .has_thread = has(flags, trace::kFaultHasThread),
           .has_address = has(flags, trace::kFaultHasAddress),
           .has_other = has(flags, trace::kFaultHasOther),
           .other_has_thread = has(flags, trace::kFaultOtherHasThread),
           .is_neighbour_freed = has(flags, trace::kFaultNeighbourFreed),
           .is_checked = has(flags, trace::kFaultChecked),
           .call = view.call(),
           .kernel = view.kernel(),
           .lines = view.lines(),
           .address = view.address(),
           .bytes = view.bytes(),
           .count = view.count(),
           .block_index = view.block_index(),
           .thread_index = view.thread_index(),
           .grid = view.grid(),
           .block = view.block(),
           .grid_id = view.grid_id(),
           .made = view.made(),
           .node = view.node(),
           .stream = view.stream(),
           .launched = view.launched(),
           .gpu_error = view.gpu_error(),
           .instruction = view.instruction(),
           .function = view.function(),
           .message = view.message(),
           .neighbour = view.neighbour(),
           .neighbour_bytes = view.neighbour_bytes(),
           .neighbour_space = view.neighbour_space(),
           .neighbour_name = view.neighbour_name(),
           .other_access = view.other_access(),
           .other_lines = view.other_lines(),
           .other_block_index = view.other_block_index(),
           .other_thread_index = view.other_thread_index(),
           .other_instruction = view.other_instruction(),
           .other_function = view.other_function()};
  return fault;
}

std::span<const event::UsedRows> rows_of(const trace::ExecutionView& view,
                                         std::vector<event::UsedRows>& rows) {
  rows.clear();
  if (view.op() != trace::ExecutionOp::kAccesses) return rows;
  const trace::Payload words = view.rows();
  for (std::size_t i = 0; i + trace::kWordsOfRows <= words.size(); i += trace::kWordsOfRows) {
    const std::uint64_t last = words[i + 3];
    rows.push_back({.address = words[i],
                    .width = words[i + 1],
                    .pitch = words[i + 2],
                    .count = last >> trace::kRowsCountShift,
                    .is_read = (last & trace::kRowsRead) != 0,
                    .is_written = (last & trace::kRowsWritten) != 0,
                    .is_strong = (last & trace::kRowsStrong) != 0,
                    .is_allocated = (last & trace::kRowsAllocated) != 0,
                    .is_freed = (last & trace::kRowsFreed) != 0});
  }
  return rows;
}

const event::Execution& execution_of(const trace::ExecutionView& view, std::uint16_t flags,
                                     EventParts& parts) {
  event::Execution& execution = parts.execution;
  execution = {.op = view.op(),
               .form = view.form(),
               .is_exact = has(flags, trace::kExecutionExact),
               .is_to_host = has(flags, trace::kExecutionToHost),
               .is_as_asked = has(flags, trace::kExecutionAsAsked),
               .is_whole = has(flags, trace::kExecutionWhole),
               .may_wait = has(flags, trace::kExecutionMayWait),
               .has_more = has(flags, trace::kExecutionMore),
               .kernel = view.kernel(),
               .reason = view.reason(),
               .call = view.call(),
               .lines = view.lines(),
               .instruction = view.instruction(),
               .made = view.made(),
               .node = view.node(),
               .blocks_done = view.blocks_done(),
               .instructions = view.instructions(),
               .ran = view.ran(),
               .skipped = view.skipped(),
               .stopped = view.stopped(),
               .nanoseconds = view.nanoseconds(),
               .rows = rows_of(view, parts.rows)};
  return execution;
}

const event::GuardCounts& guard_counts_of(const trace::GuardCountsView& view,
                                          event::GuardCounts& counts) {
  counts = {.fenced = view.fenced(),
            .most_bytes = view.most_bytes(),
            .checked = view.checked(),
            .unchecked = view.unchecked(),
            .reused = view.reused(),
            .plain = {view.in_capture(), view.no_memory(), view.no_addresses(), view.over_limit(),
                      view.too_small(), view.not_sampled(), view.exported(), view.excluded(),
                      view.shared_pool(), view.not_supported()}};
  return counts;
}

const event::LaunchLimits& launch_limits_of(const trace::LaunchLimitsView& view,
                                            event::LaunchLimits& limits) {
  limits = {.launch = view.launch(),
            .shared_bytes = view.shared_bytes(),
            .most_shared_bytes = view.most_shared_bytes(),
            .static_shared_bytes = view.static_shared_bytes(),
            .registers = view.registers(),
            .most_threads = view.most_threads(),
            .grid_y = view.grid_y(),
            .grid_z = view.grid_z(),
            .block_x = view.block_x(),
            .block_y = view.block_y(),
            .block_z = view.block_z()};
  return limits;
}

event::GuardDamage guard_damage_of(const trace::GuardDamageView& view) {
  return {.address = view.address(),
          .bytes = view.bytes(),
          .offset = view.offset(),
          .changed = view.changed(),
          .since = view.since(),
          .found = view.found(),
          .found_more = view.found_more(),
          .moment = view.moment()};
}

event::Name name_of(const trace::NameView& view) {
  return {.handle = view.handle(), .text = text_in(view), .is_whole = has_whole_text(view)};
}

event::Text text_of(const trace::TextView& view) {
  return {.id = view.id(), .text = text_in(view), .is_whole = has_whole_text(view)};
}

event::Context context_of(const trace::ContextView& view) {
  return {.handle = view.handle(), .device = view.device(), .is_primary = view.is_primary() == 1};
}

event::Exit exit_of(const trace::ExitView& view) {
  return {.way = view.way(), .status = view.status()};
}

event::Loss loss_of(const trace::LossView& view) {
  return {.cause = view.cause(), .records = view.records()};
}

event::MemoryInfo memory_info_of(const trace::MemoryInfoView& view) {
  return {.free_bytes = view.free_bytes(), .total_bytes = view.total_bytes()};
}

event::Range range_of(const trace::RangeView& view) {
  return {.domain = view.domain(), .text = view.text(), .id = view.id(), .op = view.op()};
}

event::HostMemory host_memory_of(const trace::HostMemoryView& view) {
  return {.address = view.address(), .bytes = view.bytes()};
}

event::Tensor tensor_of(const trace::TensorView& view) {
  return {.address = view.address(),
          .bytes = view.bytes(),
          .stream = view.stream(),
          .reserved = view.reserved(),
          .op = view.op()};
}

} // namespace

void decode_statement(Kind kind, std::uint16_t flags, trace::Payload payload, EventParts& parts,
                      Event& event) {
  switch (kind) {
  case Kind::kName: event.say(name_of(trace::NameView(payload))); break;
  case Kind::kText: event.say(text_of(trace::TextView(payload))); break;
  case Kind::kContext: event.say(context_of(trace::ContextView(payload))); break;
  case Kind::kExit: event.say(exit_of(trace::ExitView(payload))); break;
  case Kind::kLoss: event.say(loss_of(trace::LossView(payload))); break;
  case Kind::kKernel: event.say(kernel_of(trace::KernelView(payload), parts)); break;
  case Kind::kDevice: event.refer(device_of(trace::DeviceView(payload), parts.device)); break;
  case Kind::kMemoryInfo: event.say(memory_info_of(trace::MemoryInfoView(payload))); break;
  case Kind::kRange: event.say(range_of(trace::RangeView(payload))); break;
  case Kind::kFault: event.refer(fault_of(trace::FaultView(payload), flags, parts.fault)); break;
  case Kind::kExecution:
    event.refer(execution_of(trace::ExecutionView(payload), flags, parts));
    break;
  case Kind::kGuardDamage: event.say(guard_damage_of(trace::GuardDamageView(payload))); break;
  case Kind::kGuardCounts:
    event.refer(guard_counts_of(trace::GuardCountsView(payload), parts.guard_counts));
    break;
  case Kind::kHostMemory: event.say(host_memory_of(trace::HostMemoryView(payload))); break;
  case Kind::kLaunchLimits:
    event.refer(launch_limits_of(trace::LaunchLimitsView(payload), parts.launch_limits));
    break;
  case Kind::kTensor: event.say(tensor_of(trace::TensorView(payload))); break;
  default: event.say(event::Subject{}); // says nothing that anybody asks for
  }
}

} // namespace gmt
