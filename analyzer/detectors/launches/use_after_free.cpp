// SPDX-License-Identifier: Apache-2.0
// use-after-free: a copy, set, texture bind, prefetch or launch argument that points into memory
// freed before; of a graph's nodes, before the launch of the graph. The verdict is the heap's,
// which holds back where the addresses may belong to other memory by now.
//
// A kernel's argument that may as well be the end of another argument's block is a warning that
// names both. It waits for the end of the trace: where another launch shows that the parameter is
// such an end, nothing is said.
//
// The simulated device and --kernel-checks see whether the kernel uses the memory. Where it does,
// that access is a finding of its own, which knows more. So the one about the argument waits for
// it.
//
// A field of a structure, or a number, is a mistake only if the kernel uses it as an address.
// Structures hold words that no kernel reads: what the stack held before. So nothing is said where
// that use would have shown: on the simulated device, if the launch ran to its end; of a block that
// --guard fenced, unless its context has died with the launch in flight. Fields that a known
// library passes count only then, too, and so does all that cuSOLVER passes.
//
// A tensor that PyTorch's cache has taken back is a warning: its memory stays where it is until the
// cache gives it out again.

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/declared_pointers.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/faults/recorded_fault.h"
#include "analyzer/detectors/shared/library_calls.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// Launches whose kernels may still turn out to use what they were given.
constexpr std::size_t kMostWaiting = 100'000;

constexpr int kBusError = 7, kSegmentationFault = 11; // signals of Linux

class UseAfterFree : public Detector {
public:
  explicit UseAfterFree(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict> verdicts, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kFault) return on_fault(e, heap);
    if (e.kind == EventKind::kExecution) return on_execution(e);
    for (const Verdict& j : verdicts) {
      if (j.kind != Verdict::Kind::kUseAfterFree || !is_meant(e, j)) continue;
      const bool sees_use = facts_.simulated() || facts_.has_kernel_checks();
      const bool waits = sees_use && is_argument(e, j);
      const Use use = use_of(e, j);
      if (waits || use != Use::kNotSeen || j.reading == Verdict::Reading::kEnd)
        hold(e, j, heap, use, waits);
      else findings.add(finding(e, j, heap));
    }
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    const bool crashed =
      end.ending.how == Ending::How::kSignalled &&
      (end.ending.signal == kSegmentationFault || end.ending.signal == kBusError);
    for (auto& [key, held] : held_) {
      const bool is_end =
        key.reading == Verdict::Reading::kEnd && heap.takes_end(key.function, key.parameter);
      const bool is_unused = (key.use == Use::kExecuted && executes_ && !held.left_out) ||
                             (key.use == Use::kKillsContext && !may_have_killed(held, heap)) ||
                             (key.use == Use::kKillsProcess && !crashed);
      if (!is_end && !is_unused) findings.add(std::move(held.finding));
    }
  }

private:
  // How it shows whether a kernel uses a word as an address, if only that makes it a mistake.
  enum class Use : std::uint8_t {
    kNotSeen,
    kExecuted,     // the simulated device reports the access
    kKillsContext, // nothing is mapped there, or else a library's own business
    kKillsProcess, // a call in flight at its end, with host memory that malloc may have again
  };
  // All in which two findings differ that are held back.
  struct Key {
    std::uint64_t function = 0;
    unsigned parameter = 0;
    Verdict::Reading reading = Verdict::Reading::kNone;
    Use use = Use::kNotSeen;
    std::array<std::uint32_t, 4> stacks{}; // of the launch, of the graph's node, free, allocation
    std::string range;
    auto operator<=>(const Key&) const = default;
  };
  struct Held {
    Finding finding;
    std::uint64_t order = 0; // of the newest launch
    std::uint16_t context = 0;
    bool left_out = false; // the simulated device did not run one of the launches to its end
  };
  struct Waiting {
    std::uint64_t address = 0; // of the freed block
    Key key;
  };

  Use use_of(const Event& e, const Verdict& j) {
    const bool is_host = j.block->memory_kind == trace::MemoryKind::kPinned ||
                         j.block->memory_kind == trace::MemoryKind::kManaged;
    if (e.in_flight() && is_host && e.kind == EventKind::kCopy) return Use::kKillsProcess;
    if (!is_argument(e, j)) return Use::kNotSeen;
    const StackId made = j.work != nullptr ? j.work->made : e.stack;
    // Its getrf_pivot gets a pointer of an earlier call, and does not read it (CUDA 13.0, H100).
    const bool is_left_over = !facts_.simulated() && facts_.caller(made).owner == "cuSOLVER";
    if (is_whole_parameter(e, j) && !is_number(e, j) && !is_left_over) return Use::kNotSeen;
    if (facts_.simulated()) return Use::kExecuted;
    const bool is_fenced = (j.block->flags & kWasFenced) != 0;
    return is_fenced || by_libraries_.contain(made) ? Use::kKillsContext : Use::kNotSeen;
  }

  // What a library passes need not be what its kernel uses, and a tensor's memory stays mapped:
  // then nothing shows whether it was used.
  bool is_meant(const Event& e, const Verdict& j) {
    if (!is_tensor(*j.block) || !is_argument(e, j)) return true;
    return is_whole_parameter(e, j) && !is_number(e, j) && !by_libraries_.contain(e.stack);
  }

  // What has been waited for without an error has not.
  bool may_have_killed(const Held& held, const Heap& heap) const {
    if (!heap.is_dead(held.context)) return false;
    const auto running = facts_.launches().in_flight(held.context);
    return std::ranges::any_of(
      running, [&held](const LoggedLaunch* launch) { return launch->order == held.order; });
  }

  void hold(const Event& e, const Verdict& j, const Heap& heap, Use use, bool waits) {
    Key key{.function = function_of(e, j),
            .parameter = j.parameter,
            .reading = j.reading,
            .use = use,
            .stacks = {e.stack.value, j.work != nullptr ? j.work->made.value : 0,
                       j.block->freed.value, j.block->allocated.value},
            .range = facts_.groups_by_range() ? facts_.ranges().text(facts_.ranges().here())
                                              : std::string()};
    if (waits) {
      waiting_[e.order].push_back({j.block->address, key});
      if (waiting_.size() > kMostWaiting) waiting_.erase(waiting_.begin());
    }
    const auto [at, is_new] = held_.try_emplace(std::move(key));
    at->second.order = e.order;
    if (!is_new) {
      ++at->second.finding.count;
      return;
    }
    at->second.finding = finding(e, j, heap);
    at->second.context = e.context;
    at->second.finding.range = facts_.ranges().text(facts_.ranges().here());
  }

  void on_execution(const Event& e) {
    executes_ = true;
    const event::Execution& execution = e.execution();
    const trace::ExecutionOp op = execution.op;
    if (op != trace::ExecutionOp::kNotRun && op != trace::ExecutionOp::kStopped &&
        op != trace::ExecutionOp::kNotSelected)
      return;
    const auto launch = waiting_.find(execution.call);
    if (launch == waiting_.end()) return;
    for (const Waiting& argument : launch->second) {
      if (const auto held = held_.find(argument.key); held != held_.end())
        held->second.left_out = true;
    }
  }

  // The finding about the access stands for those about the launch's arguments.
  void on_fault(const Event& e, const Heap& heap) {
    const auto launch = waiting_.find(e.fault().call);
    if (launch == waiting_.end()) return;
    const Block* used = freed_block_of(e, heap);
    if (used == nullptr) return;
    std::erase_if(launch->second, [&](const Waiting& argument) {
      if (argument.address != used->address) return false;
      const auto held = held_.find(argument.key);
      if (held != held_.end() && --held->second.finding.count == 0) held_.erase(held);
      return true;
    });
    if (launch->second.empty()) waiting_.erase(launch);
  }

  Finding finding(const Event& e, const Verdict& j, const Heap& heap) {
    const Block& block = *j.block;
    const std::string_view call = facts_.call_name(e);
    const std::string where =
      j.offset == 0 ? std::string() : cat({format_exact_bytes(j.offset), " into "});
    const bool ended = block.end == Block::End::kContextEnded;
    Finding f;
    f.kind = "use-after-free";
    f.message = {does(e, j, call),
                 format_address(j.range_begin),
                 ", ",
                 where,
                 "memory that ",
                 ended ? "ended with its context"
                       : cat({"was already ", released_word(block.memory_kind)}),
                 ": ",
                 describe_block(block, facts_),
                 other_reading(j)};
    f.advice = "Free the memory after its last use, or do not use the pointer after the free.";
    if (const std::string excuse = excuse_of(e, j, heap); !excuse.empty()) {
      f.severity = Severity::kWarning;
      f.advice += excuse;
    }
    f.bytes = j.range_bytes;
    f.address = j.range_begin;
    f.api = call;
    f.group = cat({j.side == Verdict::Side::kSource ? "source" : "destination",
                   f.severity == Severity::kWarning ? " maybe" : ""});
    f.stacks.push_back(stack_as(role(e, j), e.stack, call));
    if (j.work != nullptr) {
      f.stacks.push_back(stack_as(j.work->captured ? StackRole::kCaptured : StackRole::kNodeMade,
                                  j.work->made, facts_.api_name(j.work->api)));
    }
    if (!is_tensor(block)) // whose end has no call stack
      f.stacks.push_back(
        stack_as(ended ? StackRole::kContextEnded : release_role(block.memory_kind), block.freed,
                 facts_.api_name(block.freed_api)));
    f.stacks.push_back(allocation_stack(block, facts_));
    if (j.neighbour != nullptr) f.stacks.push_back(neighbour_stack(*j.neighbour));
    return f;
  }

  // Why it may be no mistake, as further sentences of the advice; empty if it is one.
  std::string excuse_of(const Event& e, const Verdict& j, const Heap& heap) {
    std::string excuse;
    if (j.reading == Verdict::Reading::kEnd) {
      excuse +=
        " It is no mistake if the kernel takes the pointer for that end and reads nothing there.";
    }
    if (j.reading == Verdict::Reading::kBefore) {
      excuse +=
        " It is no mistake if the kernel counts from 1 and reads nothing before that memory.";
    }
    if (j.work != nullptr && j.work->may_run) {
      excuse += " It is a mistake only if the body of the conditional node runs.";
    }
    if (!is_argument(e, j)) return excuse;
    if (is_tensor(*j.block)) {
      excuse +=
        " It does no harm only as long as PyTorch's cache gives the memory to no other tensor "
        "before the kernel has ended.";
    }
    if (!is_whole_parameter(e, j)) {
      excuse += " It is a mistake only if the kernel uses that field.";
    } else if (is_number(e, j)) {
      excuse += " It is a mistake only if the kernel takes the number for an address.";
    }
    const bool is_host = j.block->memory_kind == trace::MemoryKind::kPinned ||
                         j.block->memory_kind == trace::MemoryKind::kManaged;
    const DeviceFacts* device = facts_.device(std::max(0, heap.device_of_context(e.context)));
    if (is_host && device != nullptr && device->reads_pageable_memory) {
      excuse +=
        " It is no mistake if malloc has got these addresses since, whose memory this GPU reads.";
    }
    return excuse;
  }

  Text other_reading(const Verdict& j) const {
    switch (j.reading) {
    case Verdict::Reading::kNone: return {};
    case Verdict::Reading::kEnd:
      return {
        "; or one past the end of ", describe_block(*j.neighbour, facts_), ", ",
        j.neighbour_parameter == kNoParameter
          ? "into which another parameter points"
          : cat({"into which parameter ", std::to_string(j.neighbour_parameter + 1), " points"})};
    case Verdict::Reading::kBefore: {
      const std::uint64_t before = j.neighbour->address - j.range_begin;
      return {"; or, as a pointer that counts from 1, ", format_exact_bytes(before), " before ",
              describe_block(*j.neighbour, facts_)};
    }
    }
    return {};
  }

  FindingStack neighbour_stack(const Block& block) const {
    FindingStack stack = allocation_stack(block, facts_);
    stack.order = StackOrder::kNeighbour;
    return stack;
  }

  static bool is_argument(const Event& e, const Verdict& j) {
    return e.kind == EventKind::kLaunch ||
           (j.work != nullptr && j.work->kind == GraphWork::Kind::kKernel);
  }
  static std::uint64_t function_of(const Event& e, const Verdict& j) {
    return j.work != nullptr ? j.work->function : e.launch().function;
  }

  // The words of a structure passed by value count too, but a field that the kernel does not use
  // may hold an old pointer.
  bool is_whole_parameter(const Event& e, const Verdict& j) const {
    const Kernel* kernel = facts_.kernel(function_of(e, j));
    if (kernel == nullptr || j.parameter >= kernel->parameters.size()) return false;
    return kernel->parameters[j.parameter].bytes == sizeof(std::uint64_t);
  }

  bool is_number(const Event& e, const Verdict& j) {
    return pointers_.of(function_of(e, j), j.parameter) == Declared::kNumber;
  }

  // The parameters are counted from 1, as people count.
  std::string passes(const Event& e, const Verdict& j) {
    const std::string name = demangle(facts_.handle_name(function_of(e, j)));
    const std::string kernel = name.empty() ? "a kernel" : shorten_function(name, kLongestName);
    const std::string does =
      cat({j.work != nullptr ? "The graph that is launched gives " : "The launch of ", kernel,
           j.work != nullptr ? "" : " passes"});
    if (j.parameter >= kNoParameter) return cat({does, " the pointer "});
    return cat({does, " ", is_whole_parameter(e, j) ? "as" : "in", " parameter ",
                std::to_string(j.parameter + 1),
                is_number(e, j) ? " the number " : " the pointer "});
  }

  Text does(const Event& e, const Verdict& j, std::string_view call) {
    if (is_argument(e, j)) return passes(e, j);
    const bool reads = j.side == Verdict::Side::kSource;
    if (j.work != nullptr) {
      if (j.work->kind == GraphWork::Kind::kSet) return "The graph that is launched sets ";
      if (j.work->kind != GraphWork::Kind::kCopy) return "The graph that is launched uses ";
      return reads ? "The graph that is launched copies from "
                   : "The graph that is launched copies to ";
    }
    if (j.side == Verdict::Side::kNone) return {CallName{call}, " uses "};
    return {CallName{call}, reads ? " reads " : " writes ", format_bytes(j.range_bytes),
            reads ? " from " : " to "};
  }

  static StackRole role(const Event& e, const Verdict& j) {
    if (j.work != nullptr) return StackRole::kGraphLaunched;
    if (e.kind == EventKind::kCopy) return StackRole::kCopied;
    if (is_argument(e, j)) return StackRole::kLaunched;
    return e.kind == EventKind::kSet ? StackRole::kSet : StackRole::kCalled;
  }

  const ProcessFacts& facts_;
  DeclaredPointers pointers_{facts_};
  std::map<Key, Held> held_;
  LibraryCalls by_libraries_{facts_};
  bool executes_ = false; // the simulated device says how far kernels ran
  std::map<std::uint64_t, std::vector<Waiting>> waiting_; // by the order of the launch
};

const DetectorRegistration kUseAfterFree{{
  .id = "use-after-free",
  .severity = Severity::kError,
  .title = "freed memory used in a copy, set, bind or launch",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<UseAfterFree>(facts);
  },
  .wants = kWantsMistakes | wants(EventKind::kFault) | wants(EventKind::kExecution),
}};

} // namespace
} // namespace gmt
