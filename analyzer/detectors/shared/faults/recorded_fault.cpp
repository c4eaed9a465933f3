// SPDX-License-Identifier: Apache-2.0
// One class, since it is one finding: each part of its words depends on the fault, its launch and
// the heap.
#include "analyzer/detectors/shared/faults/recorded_fault.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/faults/fault_advice.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/detectors/shared/faults/race_words.h"
#include "analyzer/detectors/shared/faults/recorded_evidence.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

using trace::FaultKind;

// As patches of --kernel-checks=libraries name an instruction, with its offset in the function.
constexpr std::string_view kMachineCode = "machine code at ";

std::string_view access_word(trace::FaultAccess access) {
  constexpr std::array<std::string_view, 6> kWords{"",       "load",      "store",
                                                   "atomic", "reduction", "copy"};
  const auto i = static_cast<std::size_t>(access);
  return i < kWords.size() ? kWords[i] : std::string_view();
}

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

class FaultWords {
public:
  FaultWords(const Event& e, const Heap& heap, const ProcessFacts& facts, Arguments arguments)
      : e_(e), fault_(e.fault()), facts_(facts), lines_(parse_lines(facts.text(fault_.lines))),
        kernel_(kernel_words(facts.text(fault_.kernel))) {
    const bool known = fault_.has_address && is_global_space(fault_.space);
    const bool is_meant_known = known && fault_.is_checked && fault_.neighbour_bytes != 0;
    // The heap knows only the variables that the host looked up.
    const bool is_beside_variable =
      fault_.neighbour_bytes != 0 && fault_.neighbour_space == trace::FaultSpace::kGlobal;
    const HeapAt at = heap_at(fault_, heap);
    if (known && !is_beside_variable)
      around_ = memory_around(fault_.address, bytes(), at, arguments);
    if (is_meant_known) around_ = memory_beside(live_at(fault_.neighbour, at), fault_.address);
    if (known && around_.block == nullptr && fault_.neighbour_bytes == 0)
      stray_ = stray_address(fault_.address, bytes(), at, facts);
    if (fault_.fault == FaultKind::kMisaligned)
      parameter_ = misaligned_parameter(arguments, around_, bytes());
    if (is_in_local_window(e)) stray_.how = StrayAddress::How::kLocal;
    if (around_.where != MemoryAround::Where::kInside) return;
    // Before a process has a second context its calls name none.
    device_ = heap.device_of_context(e.context != 0 ? e.context : 1);
    owner_ = heap.device_of(*around_.block);
  }

  Finding finding() const {
    Finding f;
    f.kind = kind();
    const bool is_mask = !wrong_mask_words(e_, facts_.text(fault_.message)).empty();
    if (fault_.fault == FaultKind::kUninitializedRead || is_volatile() || is_apart() || is_mask ||
        is_unfenced())
      f.severity = Severity::kWarning;
    const bool is_result = is_other_result(e_, facts_.text(fault_.message));
    if (is_race_by_habit(fault_, facts_.text(fault_.message)) || is_of_rest() || is_result)
      f.severity = Severity::kNote;
    f.message = message();
    f.advice = advice(f.kind);
    f.count = std::max<std::uint64_t>(1, fault_.count);
    if (fault_.has_address && is_global_space(fault_.space)) f.address = fault_.address;
    add_stacks_of(f);
    f.group = cat({std::to_string(static_cast<unsigned>(fault_.fault)),
                   is_volatile() || is_apart() ? " warning " : " ", instruction(), " ", code()});
    if (f.severity == Severity::kNote)
      f.group += is_result ? "other result" : facts_.text(fault_.message);
    return f;
  }

private:
  // No race, but nothing that orders the two.
  bool is_volatile() const { return is_volatile_race(e_, facts_.text(fault_.message)); }
  bool is_unfenced() const { return is_unfenced_copy(e_, facts_.text(fault_.message)); }
  bool is_apart() const { return is_barrier_apart(e_, facts_.text(fault_.message)); }
  bool is_of_rest() const { return is_barrier_of_rest(e_, facts_.text(fault_.message)); }

  std::string advice(std::string_view finding) const {
    if (is_out_of_reach()) return advice_on_device(device_, owner_, around_.block->memory_kind);
    if (std::string own = advice_on_record(e_, facts_.text(fault_.message), !lines_.empty());
        !own.empty())
      return own;
    FaultEvidence evidence = evidence_of(e_, finding, around_, stray_, facts_);
    if (fault_.fault == FaultKind::kGlobalRace)
      return global_race_advice(fault_, facts_.text(fault_.message), evidence.is_one_line);
    if (parameter_) evidence.parameter = parameter_->parameter();
    return cat({advice_on(evidence), is_volatile() ? advice_on_volatile() : ""});
  }

  // A line may be several instructions, as "+=" and an unrolled loop are: the memory sets them
  // apart.
  std::string instruction() const {
    if (lines_.empty()) return std::string(facts_.text(fault_.instruction));
    return cat({space_word(fault_.space), " ", facts_.text(fault_.neighbour_name)});
  }

  // Two lines race with each other whichever thread came first.
  std::string code() const {
    const auto words = [&](std::uint64_t function, const std::vector<KernelLine>& lines) {
      return cat(
        {facts_.text(function), " ", source_words(lines, {}), " ", std::to_string(lines.size())});
    };
    std::string here = words(fault_.function, lines_);
    if (!is_race(fault_.fault)) return here;
    std::string there = words(fault_.other_function, parse_lines(facts_.text(fault_.other_lines)));
    if (there < here) std::swap(here, there);
    return cat({here, " ", there});
  }

  std::string verb() const {
    return access_verb(access_word(fault_.access), fault_.bytes, space_word(fault_.space));
  }
  std::string at() const {
    const std::string source = source_words(lines_, {});
    return source.empty() ? std::string() : cat({" at ", source});
  }

  // "at 0x7f..., 76 bytes past the end of ..."; of shared memory "at offset 4,096, ..."
  Text where() const {
    Text text;
    if (fault_.has_address) {
      text += is_global_space(fault_.space) ? cat({" at ", format_address(fault_.address)})
                                            : cat({" at offset ", format_count(fault_.address)});
    }
    if (fault_.fault == FaultKind::kMisaligned) {
      text += cat({", which is no multiple of ", std::to_string(fault_.bytes)});
      if (around_.block == nullptr && fault_.neighbour_bytes == 0) return text;
    }
    if (around_.block != nullptr) {
      text += {", ", describe(around_, facts_)};
      if (is_out_of_reach()) text += out_of_reach(device_, owner_);
    } else if (fault_.neighbour_bytes != 0 && !is_in_local_window(e_)) {
      text += cat({", ", neighbour()});
    } else if (is_empty_array(e_)) {
      text += cat({", in the array ", demangle(facts_.text(fault_.neighbour_name)),
                   ", for which the launch gave 0 bytes"});
    } else if (fault_.has_address && is_global_space(fault_.space)) {
      text += describe(stray_, fault_.address, facts_);
    }
    return text;
  }

  // The device refused a use of live memory, all of it: it is another device's.
  bool is_out_of_reach() const {
    return fault_.fault == FaultKind::kOutOfBounds && device_ >= 0 && owner_ >= 0 &&
           device_ != owner_;
  }

  Text parameter_words() const {
    if (!parameter_) return {};
    return cat({"; parameter ", std::to_string(parameter_->parameter() + 1), " of its launch, ",
                format_address(parameter_->address()), ", is none itself"});
  }

  std::uint64_t bytes() const { return std::max<std::uint64_t>(1, fault_.bytes); }
  // A device that unmaps freed memory knows only that nothing is mapped there.
  std::string_view kind() const {
    if (is_out_of_reach()) return fault_kinds::kFault; // nothing is wrong with the address
    const bool freed = around_.where == MemoryAround::Where::kFreed;
    if (fault_.fault == FaultKind::kOutOfBounds && freed) return fault_kinds::kUseAfterFree;
    // Nothing parts the threads: they all wait for more of them than there are
    if (fault_.fault == FaultKind::kDeadlock && !fault_.has_other) return fault_kinds::kHang;
    return kind_of(fault_.fault);
  }

  // What the device knows better: a variable, shared memory, a block of the device heap.
  std::string neighbour() const {
    const std::string_view name = facts_.text(fault_.neighbour_name);
    const std::uint64_t begin = fault_.neighbour, bytes = fault_.neighbour_bytes;
    const std::uint64_t address = fault_.address;
    const std::string_view space = space_word(fault_.neighbour_space);
    const std::string memory = space.empty() ? "the device heap" : cat({space, " memory"});
    const std::string what =
      name.empty() ? cat({format_bytes(bytes), " of ", memory})
                   : cat({"the variable ", demangle(name), " (", format_bytes(bytes), ")"});
    if (fault_.is_neighbour_freed && address - begin < bytes) {
      const std::string at =
        address == begin ? "at the beginning of" : format_exact_bytes(address - begin) + " into";
      return cat({at, " memory that was already freed: ", what});
    }
    if (address < begin)
      return cat({format_exact_bytes(begin - address), " before the beginning of ", what});
    if (address - begin == bytes) return cat({"right behind the end of ", what});
    if (address - begin > bytes)
      return cat({format_exact_bytes(address - begin - bytes), " past the end of ", what});
    return cat({format_exact_bytes(address - begin), " into ", what});
  }

  Text message() const {
    std::string_view said = facts_.text(fault_.message);
    while (said.ends_with('.') || said.ends_with('\n')) said.remove_suffix(1);
    switch (fault_.fault) {
    case FaultKind::kOutOfBounds:
    case FaultKind::kUseAfterFree:
      if (const std::string of_cluster = cluster_words(e_, said); !of_cluster.empty())
        return {kernel_, " ", verb(), at(), of_cluster};
      // Of textures and surfaces, whose coordinates are no address
      if (!fault_.has_address && !said.empty()) return {kernel_, " ", verb(), at(), ": ", said};
      return {kernel_, " ", verb(), where()};
    case FaultKind::kMisaligned: return {kernel_, " ", verb(), where(), parameter_words()};
    case FaultKind::kUninitializedRead:
      if (is_of_no_lane(e_, said))
        return {kernel_, " uses the result of a shuffle", at(),
                " from a lane that has ended or that the mask does not name"};
      if (fault_.bytes == 0) return {kernel_, " uses a value that nothing wrote", at()};
      return {kernel_, " ", verb(), " that nothing wrote", where()};
    case FaultKind::kSharedRace:
    case FaultKind::kGlobalRace:
      if (const auto order = other_order(e_, said); order && order->is_result)
        return {kernel_, " leaves another value", where(), ", ", in_words(*order)};
      return race();
    case FaultKind::kBarrierDivergence:
      if (is_of_rest())
        return {"Threads of a block of ",
                kernel_,
                " go on at a barrier",
                at(),
                " without others, which ended before",
                at_other_side(),
                ": PTX allows it, and CUDA C++ wants all threads of the block there"};
      if (is_apart())
        return {"Warps of a block of ", kernel_, " meet at two barriers: one waits",
                at() + other_side(), ", and PTX counts both as one"};
      return {"Threads of a block of ",   kernel_,
              " wait at a barrier",       at(),
              " that others never reach", said.empty() ? "" : cat({": ", said})};
    case FaultKind::kDeadlock:
      if (!fault_.has_other)
        return {kernel_, " never ends: all threads of a block wait", at(),
                ", at a barrier for more threads than there are"};
      return {"No thread of a block of ", kernel_, " can go on: some wait", at(), other_side()};
    case FaultKind::kHang:
      if (!said.empty()) return {kernel_, " never ends: ", said, at()};
      if (!fault_.has_address)
        return {kernel_, " never ends: its threads go round", at(),
                ", and nothing changes any more"};
      return {kernel_, " never ends: it polls ", polled_memory(), where(),
              ", which nothing changes any more"};
    case FaultKind::kAssert:
      // CUDA's text has the line.
      return {"An assert in ", kernel_, said.empty() ? at() : "", " failed",
              said.empty() ? "" : cat({": ", said})};
    case FaultKind::kTrap: return {kernel_, " stopped", at(), " by a trap"};
    case FaultKind::kIllegalInstruction:
      if (const std::string_view mask = wrong_mask_words(e_, said); !mask.empty())
        return {kernel_, " calls a shuffle, a vote or their like", at(), " with ",
                mask,    ", which CUDA leaves undefined"};
      return {kernel_, " met an illegal instruction", at(), said.empty() ? "" : cat({": ", said})};
    case FaultKind::kStackOverflow: return {kernel_, " needs more stack than there is", at()};
    case FaultKind::kInvalidAddressSpace:
      return {kernel_, " ", verb(), where(), ", by an instruction for another kind of memory"};
    case FaultKind::kInvalidJump: return {kernel_, " calls what is no function", at()};
    default: break;
    }
    return {kernel_, " met a fault", at(), said.empty() ? "" : cat({": ", said})};
  }

  std::string polled_memory() const {
    const std::string_view space = space_word(fault_.space);
    return is_global_space(fault_.space) || space.empty() ? "memory" : cat({space, " memory"});
  }

  std::string at_other_side() const {
    const std::string there = source_words(parse_lines(facts_.text(fault_.other_lines)), {});
    return there.empty() ? std::string() : cat({" at ", there});
  }
  std::string other_side() const {
    const std::string there = at_other_side();
    return there.empty() ? there : cat({", others", there});
  }

  Text race() const {
    const std::string other = source_words(parse_lines(facts_.text(fault_.other_lines)), {});
    Text text{kernel_, " ", verb(), where()};
    if (fault_.fault == FaultKind::kGlobalRace)
      text += global_race_words(fault_, facts_.text(fault_.message), other);
    else
      text +=
        shared_race_words(access_word(fault_.other_access), other, facts_.text(fault_.message));
    if (const auto order = other_order(e_, facts_.text(fault_.message)))
      text += cat({", seen ", in_words(*order)});
    if (is_volatile()) text += ": both are volatile, which is no race, but orders nothing either";
    return text;
  }

  FindingStack stack_at(std::uint64_t lines, std::uint64_t function, bool is_other) const {
    FindingStack stack =
      kernel_stack(role(), std::string(facts_.text(fault_.kernel)),
                   std::string(facts_.text(function)), parse_lines(facts_.text(lines)));
    const std::string_view instruction = facts_.text(fault_.instruction);
    if (!is_other && lines_.empty() && instruction.starts_with(kMachineCode))
      stack.frames.front().module = instruction; // instead of a line
    if (is_other ? fault_.other_has_thread : fault_.has_thread) {
      stack.device->block = index_extents(is_other ? fault_.other_block_index : fault_.block_index);
      stack.device->thread =
        index_extents(is_other ? fault_.other_thread_index : fault_.thread_index);
    }
    return stack;
  }

  StackRole role() const {
    const FaultKind kind = fault_.fault;
    if (kind == FaultKind::kBarrierDivergence || kind == FaultKind::kDeadlock ||
        kind == FaultKind::kHang)
      return StackRole::kWaited;
    if (fault_.access != trace::FaultAccess::kUnknown) return StackRole::kAccessed;
    return kind == FaultKind::kUninitializedRead ? StackRole::kUsed : StackRole::kFailed;
  }

  void add_stacks_of(Finding& f) const {
    FindingStack here = stack_at(fault_.lines, fault_.function, false);
    f.fault = DeviceFault{.source = fault_.is_checked ? DeviceFault::Source::kKernelCheck
                                                      : DeviceFault::Source::kSimulatedDevice,
                          .certainty = DeviceFault::Certainty::kExact,
                          .thread = *here.device,
                          .operation = std::string(access_word(fault_.access)),
                          .space = std::string(space_word(fault_.space)),
                          .width = static_cast<std::uint32_t>(fault_.bytes)};
    if (!is_other_result(e_, facts_.text(fault_.message))) // which is of no line
      f.stacks.push_back(std::move(here));
    if (fault_.has_other && !is_of_rest()) { // the message says where they ended
      FindingStack other = stack_at(fault_.other_lines, fault_.other_function, true);
      if (fault_.fault == FaultKind::kSharedRace) other.order = StackOrder::kFirst;
      if (fault_.fault == FaultKind::kUninitializedRead) other.role = StackRole::kUsed;
      f.stacks.push_back(std::move(other));
    }
    for (const std::uint64_t order : {fault_.call, fault_.made}) {
      if (const LoggedLaunch* launch = order != 0 ? facts_.launches().find(order) : nullptr)
        f.stacks.push_back(launch_stack(*launch, facts_));
    }
    add_stacks(f.stacks, around_, facts_);
    add_stacks(f.stacks, stray_.meant, facts_);
  }

  const Event& e_;
  const event::Fault& fault_;
  const ProcessFacts& facts_;
  const std::vector<KernelLine> lines_;
  const std::string kernel_;
  MemoryAround around_;
  int device_ = -1, owner_ = -1; // that ran the kernel, and of memory that it used; -1: not known
  StrayAddress stray_;           // where no memory is around
  std::optional<Argument> parameter_; // that is misaligned itself
};

} // namespace

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
  return FaultWords(fault, heap, facts, arguments).finding();
}

} // namespace gmt
