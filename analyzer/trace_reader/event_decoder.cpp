// SPDX-License-Identifier: Apache-2.0
// decode_words() once an event: a switch, some loads and stores. What few records have is out of
// line.

#include "analyzer/trace_reader/event_decoder.h"

#include <bit>

namespace gmt {
namespace {

using trace::Kind;

static_assert(kNoParameter == trace::kNoParameter);
static_assert(kResultInFlight == trace::kResultInFlight);
static_assert(kOrderBits == trace::kOrderBits && kOrderMask == trace::kOrderMask);
static_assert(kLastEventKind == static_cast<EventKind>(trace::kLastEventKind));
static_assert(std::bit_cast<std::uint64_t>(Argument(0x7fffdeadbeef, 5)) ==
              trace::argument_word(0x7fffdeadbeef, 5));
static_assert(std::bit_cast<std::uint64_t>(Argument(1, 128)) == trace::argument_word(1, 128));

// Kinds have one number as events and as records.
#define SAME(kind) static_assert(EventKind::kind == static_cast<EventKind>(Kind::kind))
SAME(kName);
SAME(kContext);
SAME(kExit);
SAME(kLoss);
SAME(kKernel);
SAME(kDevice);
SAME(kMemoryInfo);
SAME(kRange);
SAME(kText);
SAME(kThread);
SAME(kFault);
SAME(kExecution);
SAME(kAlloc);
SAME(kFree);
SAME(kCopy);
SAME(kSet);
SAME(kLaunch);
SAME(kLife);
SAME(kSync);
SAME(kNote);
SAME(kUse);
SAME(kGraphKernel);
SAME(kGraphChange);
SAME(kGuardDamage);
SAME(kGuardExport);
SAME(kGuardCounts);
SAME(kHostMemory);
SAME(kLaunchLimits);
SAME(kTensor);
#undef SAME

Arguments arguments_of(trace::Payload words, std::vector<Argument>& arguments) {
  if (words.empty()) return {};
  arguments.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = std::bit_cast<Argument>(words[i]);
  return arguments;
}

[[gnu::noinline]] void shape(const trace::AllocView& view, event::AllocationShape& shape) {
  shape = {.pitch = view.pitch(),
           .width = view.width(),
           .height = view.height(),
           .depth = view.depth(),
           .element_bytes = view.element_bytes(),
           .pool = view.pool(),
           .flags = view.flags()};
}

[[gnu::noinline]] void shape(const trace::CopyView& view, event::CopyShape& shape) {
  shape = {.destination_pitch = view.destination_pitch(),
           .source_pitch = view.source_pitch(),
           .width = view.width(),
           .height = view.height(),
           .depth = view.depth(),
           .destination_rows = view.destination_rows(),
           .source_rows = view.source_rows(),
           .destination_x = view.destination_x(),
           .destination_y = view.destination_y(),
           .destination_z = view.destination_z(),
           .source_x = view.source_x(),
           .source_y = view.source_y(),
           .source_z = view.source_z(),
           .has_offsets = view.has(trace::CopyWord::destination_z)};
}

event::Allocation allocation_of(const trace::AllocView& view, std::uint16_t flags,
                                EventParts& parts) {
  const bool is_shaped = view.has_second_slot();
  if (is_shaped) shape(view, parts.allocation);
  return {.address = view.address(),
          .bytes = view.bytes(),
          .stream = view.stream(),
          .shape = is_shaped ? &parts.allocation : &event::kNoAllocationShape,
          .memory_kind = view.memory_kind(),
          .is_shaped = is_shaped,
          .is_fenced = has(flags, trace::kAllocFenced)};
}

event::Free free_of(const trace::FreeView& view) {
  return {.address = view.address(),
          .bytes = view.bytes(),
          .stream = view.stream(),
          .function = view.function()};
}

event::Copy copy_of(const trace::CopyView& view, std::uint16_t flags, event::CopyShape& parts) {
  const bool is_shaped = view.has_second_slot();
  if (is_shaped) shape(view, parts);
  return {.destination = view.destination(),
          .source = view.source(),
          .bytes = view.bytes(),
          .stream = view.stream(),
          .shape = is_shaped ? &parts : &event::kNoCopyShape,
          .destination_side = trace::destination_side(flags),
          .source_side = trace::source_side(flags),
          .declared_kind_plus_1 = static_cast<std::uint8_t>(trace::declared_kind_plus_1(flags)),
          .is_shaped = is_shaped,
          .is_async = has(flags, trace::kCopyAsync),
          .is_batched = has(flags, trace::kCopyBatched)};
}

event::Set set_of(const trace::SetView& view, std::uint16_t flags, event::SetShape& shape) {
  const bool is_shaped = view.has_second_slot();
  if (is_shaped)
    shape = {.pitch = view.pitch(),
             .width = view.width(),
             .height = view.height(),
             .element_bytes = view.element_bytes()};
  return {.destination = view.destination(),
          .bytes = view.bytes(),
          .value = view.value(),
          .stream = view.stream(),
          .shape = is_shaped ? &shape : &event::kNoSetShape,
          .is_shaped = is_shaped,
          .is_async = has(flags, trace::kSetAsync)};
}

// Words behind the last pointer fill a record's last slot.
Arguments without_rest(Arguments arguments) {
  while (!arguments.empty() && arguments.back().is_unused())
    arguments = arguments.first(arguments.size() - 1);
  return arguments;
}

event::Launch launch_of(const trace::LaunchView& view, std::uint16_t flags, Arguments arguments) {
  return {.function = view.function(),
          .stream = view.stream(),
          .arguments = without_rest(arguments),
          .grid = view.grid(),
          .block = view.block(),
          .is_scanned = has(flags, trace::kLaunchScanned)};
}

event::Life life_of(const trace::LifeView& view) {
  return {.handle = view.handle(),
          .extra = view.extra(),
          .value = view.value(),
          .bytes = view.bytes(),
          .name = view.name(),
          .object = view.object(),
          .op = view.op(),
          .has_value = view.has_second_slot()};
}

event::Sync sync_of(const trace::SyncView& view) {
  return {.stream = view.stream(), .other = view.other(), .flags = view.flags(), .op = view.op()};
}

[[gnu::noinline]] void shape(const trace::UseView& view, event::UseShape& shape) {
  shape.rows = {.pitch = view.pitch(),
                .width = view.width(),
                .height = view.height(),
                .element_bytes = view.element_bytes()};
  shape.node = view.node();
  shape.part = view.part();
  shape.node_type = view.node_type();
  shape.has_node = view.has(trace::UseWord::node_type);
  shape.has_copy = view.has(trace::UseWord::flags_of_copy);
  if (!shape.has_copy) return;
  const trace::Payload copy{view.payload().words + trace::UseWord::copy_destination,
                            trace::CopyWord::kCount};
  shape.copy = copy_of(trace::CopyView(copy), static_cast<std::uint16_t>(view.flags_of_copy()),
                       shape.copy_shape);
}

event::Note note_of(const trace::NoteView& view) {
  return {
    .first = view.first(), .second = view.second(), .third = view.third(), .fourth = view.fourth()};
}

event::Use use_of(const trace::UseView& view, std::uint16_t flags, event::UseShape& parts) {
  const bool is_shaped = view.has_second_slot();
  if (is_shaped) shape(view, parts);
  return {.address = view.address(),
          .bytes = view.bytes(),
          .stream = view.stream(),
          .shape = is_shaped ? &parts : &event::kNoUseShape,
          .use = view.use(),
          .is_shaped = is_shaped,
          .reads = has(flags, trace::kUseReads),
          .writes = has(flags, trace::kUseWrites),
          .is_of_recorded_copy = has(flags, trace::kUseOfRecordedCopy)};
}

event::GraphKernel graph_kernel_of(const trace::GraphKernelView& view, std::uint16_t flags,
                                   EventParts& parts) {
  return {.function = view.function(),
          .graph = view.graph(),
          .node = view.node(),
          .arguments = arguments_of(view.arguments(), parts.arguments),
          .grid = view.grid(),
          .block = view.block(),
          .is_scanned = has(flags, trace::kLaunchScanned)};
}

event::GraphChange graph_change_of(const trace::GraphChangeView& view) {
  return {.graph = view.graph(), .other = view.other(), .node = view.node(), .op = view.op()};
}

void note_kind(Kind kind, std::uint16_t flags, Event& event) {
  event.kind = static_cast<EventKind>(kind);
  event.is_nested = has(flags, trace::kFlagNested);
  event.from_runtime = has(flags, trace::kFlagRuntime);
}

} // namespace

void decode_launch(std::uint16_t flags, trace::Payload payload, Arguments arguments, Event& event) {
  note_kind(Kind::kLaunch, flags, event);
  event.say(launch_of(trace::LaunchView(payload), flags, arguments));
}

void decode_words(Kind kind, std::uint16_t flags, trace::Payload payload, EventParts& parts,
                  Event& event) {
  note_kind(kind, flags, event);
  switch (kind) {
  case Kind::kAlloc: event.say(allocation_of(trace::AllocView(payload), flags, parts)); break;
  case Kind::kFree: event.say(free_of(trace::FreeView(payload))); break;
  case Kind::kCopy: event.say(copy_of(trace::CopyView(payload), flags, parts.copy)); break;
  case Kind::kSet: event.say(set_of(trace::SetView(payload), flags, parts.set)); break;
  case Kind::kLaunch: {
    const trace::LaunchView view(payload);
    event.say(launch_of(view, flags, arguments_of(view.arguments(), parts.arguments)));
    break;
  }
  case Kind::kLife: event.say(life_of(trace::LifeView(payload))); break;
  case Kind::kSync: event.say(sync_of(trace::SyncView(payload))); break;
  case Kind::kNote: event.say(note_of(trace::NoteView(payload))); break;
  case Kind::kUse: event.say(use_of(trace::UseView(payload), flags, parts.use)); break;
  case Kind::kGraphKernel:
    event.say(graph_kernel_of(trace::GraphKernelView(payload), flags, parts));
    break;
  case Kind::kGraphChange: event.say(graph_change_of(trace::GraphChangeView(payload))); break;
  default: decode_statement(kind, flags, payload, parts, event);
  }
}

} // namespace gmt
