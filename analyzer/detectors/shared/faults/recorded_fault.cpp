// SPDX-License-Identifier: Apache-2.0
// The record decides the kind and the severity, the heap the advice; recorded_message.cpp has the
// sentence.
#include "analyzer/detectors/shared/faults/recorded_fault.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/faults/fault_advice.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/detectors/shared/faults/race_words.h"
#include "analyzer/detectors/shared/faults/recorded_facts.h"
#include "analyzer/symbols/demangle.h"
#include "ptx/names/checked_form.h"

namespace gmt {
namespace {

using trace::FaultKind;

// As patches of --kernel-checks=libraries name an instruction, with its offset in the function.
constexpr std::string_view kMachineCode = "machine code at ";

Extents index_extents(trace::Index3 i) { return {i.x, i.y, i.z}; }

// The kind of the finding that a record becomes.
std::string_view kind_of(FaultKind kind) {
  switch (kind) {
  case FaultKind::kOutOfBounds: return fault_kinds::kOutOfBounds;
  case FaultKind::kUseAfterFree: return fault_kinds::kUseAfterFree;
  case FaultKind::kMisaligned: return fault_kinds::kMisaligned;
  case FaultKind::kUninitializedRead: return fault_kinds::kUninitializedRead;
  case FaultKind::kSharedRace: return fault_kinds::kSharedRace;
  case FaultKind::kGlobalRace: return fault_kinds::kGlobalRace;
  case FaultKind::kBarrierDivergence:
  case FaultKind::kDeadlock: return fault_kinds::kBarrierDivergence;
  case FaultKind::kHang: return fault_kinds::kHang;
  case FaultKind::kAssert: return fault_kinds::kAssert;
  default: return fault_kinds::kFault;
  }
}

// A device that unmaps freed memory knows only that nothing is mapped there.
std::string_view kind_of(const RecordedFacts& known) {
  if (known.is_out_of_reach()) return fault_kinds::kFault; // nothing is wrong with the address
  const bool freed = known.around.where == MemoryAround::Where::kFreed;
  if (known.record.fault == FaultKind::kOutOfBounds && freed) return fault_kinds::kUseAfterFree;
  // Nothing parts the threads: they all wait for more of them than there are
  if (known.record.fault == FaultKind::kDeadlock && !known.record.has_other)
    return fault_kinds::kHang;
  return kind_of(known.record.fault);
}

// A line may be several instructions, as "+=" and an unrolled loop are: the memory sets them
// apart.
std::string instruction_of(const RecordedFacts& known) {
  if (known.lines.empty()) return std::string(known.names.text(known.record.instruction));
  return cat({space_word(known.record.space), " ", known.names.text(known.record.neighbour_name)});
}

// Two lines race with each other whichever thread came first.
std::string code_of(const RecordedFacts& known) {
  const auto words = [&](std::uint64_t function, const std::vector<KernelLine>& lines) {
    return cat({ptx::plain_name(known.names.text(function)), " ", source_words(lines, {}), " ",
                std::to_string(lines.size())});
  };
  std::string here = words(known.record.function, known.lines);
  if (!is_race(known.record.fault)) return here;
  std::string there =
    words(known.record.other_function, parse_lines(known.names.text(known.record.other_lines)));
  if (there < here) std::swap(here, there);
  return cat({here, " ", there});
}

StackRole role_of(const RecordedFacts& known) {
  const FaultKind kind = known.record.fault;
  if (kind == FaultKind::kBarrierDivergence || kind == FaultKind::kDeadlock ||
      kind == FaultKind::kHang)
    return StackRole::kWaited;
  if (known.record.access != trace::FaultAccess::kUnknown) return StackRole::kAccessed;
  return kind == FaultKind::kUninitializedRead ? StackRole::kUsed : StackRole::kFailed;
}

FindingStack stack_at(const RecordedFacts& known, std::uint64_t lines, std::uint64_t function,
                      bool is_other) {
  FindingStack stack =
    kernel_stack(role_of(known), std::string(known.names.text(known.record.kernel)),
                 std::string(known.names.text(function)), parse_lines(known.names.text(lines)));
  const std::string_view instruction = known.names.text(known.record.instruction);
  if (!is_other && known.lines.empty() && instruction.starts_with(kMachineCode))
    stack.frames.front().module = instruction; // instead of a line
  if (is_other ? known.record.other_has_thread : known.record.has_thread) {
    stack.device->block =
      index_extents(is_other ? known.record.other_block_index : known.record.block_index);
    stack.device->thread =
      index_extents(is_other ? known.record.other_thread_index : known.record.thread_index);
  }
  return stack;
}

void add_stacks_of(const RecordedFacts& known, Finding& f) {
  FindingStack here = stack_at(known, known.record.lines, known.record.function, false);
  f.fault = DeviceFault{.source = known.record.is_checked ? DeviceFault::Source::kKernelCheck
                                                          : DeviceFault::Source::kSimulatedDevice,
                        .certainty = DeviceFault::Certainty::kExact,
                        .thread = *here.device,
                        .operation = std::string(access_word(known.record.access)),
                        .space = std::string(space_word(known.record.space)),
                        .width = static_cast<std::uint32_t>(known.record.bytes)};
  if (!is_other_result(known.event, known.said())) // which is of no line
    f.stacks.push_back(std::move(here));
  if (known.record.has_other && !known.is_of_rest()) { // the message says where they ended
    FindingStack other =
      stack_at(known, known.record.other_lines, known.record.other_function, true);
    if (const auto earlier = earlier_launch_said(known.record, known.said()))
      other.device->kernel = demangle(earlier->kernel);
    if (known.record.fault == FaultKind::kSharedRace) other.order = StackOrder::kFirst;
    if (known.record.fault == FaultKind::kUninitializedRead) other.role = StackRole::kUsed;
    f.stacks.push_back(std::move(other));
  }
  for (const std::uint64_t order : {known.record.call, known.record.made}) {
    if (const LoggedLaunch* launch = order != 0 ? known.names.launches().find(order) : nullptr)
      f.stacks.push_back(launch_stack(*launch, known.names));
  }
  const auto earlier = earlier_launch_said(known.record, known.said());
  if (earlier && earlier->call != known.record.call) {
    if (const LoggedLaunch* launch = known.names.launches().find(earlier->call))
      f.stacks.push_back(launch_stack(*launch, known.names));
  }
  add_stacks(f.stacks, known.around, known.names);
  add_stacks(f.stacks, known.stray.meant, known.names);
}

std::string advice_for(const RecordedFacts& known, std::string_view finding) {
  if (known.is_out_of_reach())
    return advice_on_device(known.device, known.owner, known.around.block->memory_kind);
  if (std::string own = advice_on_record(known.event, known.said(), !known.lines.empty());
      !own.empty())
    return own;
  FaultEvidence evidence =
    evidence_of(known.event, finding, known.around, known.stray, known.names);
  if (const auto earlier = earlier_launch_said(known.record, known.said()))
    return earlier_launch_advice(*earlier);
  if (known.record.fault == FaultKind::kGlobalRace)
    return global_race_advice(known.record, known.said(), evidence.is_one_line);
  if (known.parameter) evidence.parameter = known.parameter->parameter();
  return cat({advice_on(evidence), known.is_volatile() ? advice_on_volatile() : ""});
}

} // namespace

RecordedFacts::RecordedFacts(const Event& e, const Heap& heap, const ProcessFacts& facts,
                             Arguments arguments)
    : event(e), record(e.fault()), names(facts), lines(parse_lines(facts.text(record.lines))),
      kernel(kernel_words(facts.text(record.kernel))) {
  const bool is_known = record.has_address && is_global_space(record.space);
  const bool is_meant_known = is_known && record.is_checked && record.neighbour_bytes != 0;
  // The heap knows only the variables that the host looked up.
  const bool is_beside_variable =
    record.neighbour_bytes != 0 && record.neighbour_space == trace::FaultSpace::kGlobal;
  const HeapAt at = heap_at(record, heap);
  if (is_known && !is_beside_variable)
    around = memory_around(record.address, bytes(), at, arguments);
  // Such an access went astray nowhere: its memory is a variable
  const bool is_beside =
    around.where == MemoryAround::Where::kBehind || around.where == MemoryAround::Where::kBefore;
  if (record.fault == FaultKind::kGlobalRace && is_beside) around = {};
  if (is_meant_known) around = memory_beside(live_at(record.neighbour, at), record.address);
  if (is_known && around.block == nullptr && record.neighbour_bytes == 0)
    stray = stray_address(record.address, bytes(), at, names);
  if (record.fault == FaultKind::kMisaligned)
    parameter = misaligned_parameter(arguments, around, bytes());
  if (is_in_local_window(event)) stray.how = StrayAddress::How::kLocal;
  if (around.where != MemoryAround::Where::kInside) return;
  // Before a process has a second context its calls name none.
  device = heap.device_of_context(event.context != 0 ? event.context : 1);
  owner = heap.device_of(*around.block);
}

const Block* freed_block_of(const Event& fault, const Heap& heap) {
  const event::Fault& view = fault.fault();
  const bool may_be =
    view.fault == FaultKind::kUseAfterFree || view.fault == FaultKind::kOutOfBounds;
  if (!may_be || !view.has_address || !is_global_space(view.space)) return nullptr;
  const MemoryAround around =
    memory_around(view.address, std::max<std::uint64_t>(1, view.bytes), heap_at(view, heap));
  return around.where == MemoryAround::Where::kFreed ? around.block : nullptr;
}

Finding finding_of(const Event& fault, const Heap& heap, const ProcessFacts& facts,
                   Arguments arguments) {
  const RecordedFacts known(fault, heap, facts, arguments);
  Finding f;
  f.kind = kind_of(known);
  const bool is_mask = !wrong_mask_words(known.event, known.said()).empty();
  if (known.record.fault == FaultKind::kUninitializedRead || known.is_volatile() ||
      known.is_apart() || is_mask || known.is_unfenced() ||
      is_unfenced_product(known.event, known.said()) || is_wait_alone(known.event, known.said()) ||
      !unknown_format(known.event, known.said()).empty())
    f.severity = Severity::kWarning;
  const bool is_result = is_other_result(known.event, known.said());
  if (is_race_by_habit(known.record, known.said()) || known.is_of_rest() || is_result)
    f.severity = Severity::kNote;
  f.message = message_of(known);
  f.advice = advice_for(known, f.kind);
  f.count = std::max<std::uint64_t>(1, known.record.count);
  if (known.record.has_address && is_global_space(known.record.space))
    f.address = known.record.address;
  add_stacks_of(known, f);
  f.group = cat({std::to_string(static_cast<unsigned>(known.record.fault)),
                 known.is_volatile() || known.is_apart() ? " warning " : " ", instruction_of(known),
                 " ", code_of(known)});
  if (f.severity == Severity::kNote) f.group += is_result ? "other result" : known.said();
  return f;
}

} // namespace gmt
