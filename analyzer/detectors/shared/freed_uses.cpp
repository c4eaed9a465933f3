// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/freed_uses.h"

#include <algorithm>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

Text other_reading(const Verdict& j, const ProcessFacts& facts) {
  switch (j.reading) {
  case Verdict::Reading::kNone: return {};
  case Verdict::Reading::kEnd:
    return {
      "; or one past the end of ", describe_block(*j.neighbour, facts), ", ",
      j.neighbour_parameter == kNoParameter
        ? "into which another parameter points"
        : cat({"into which parameter ", std::to_string(j.neighbour_parameter + 1), " points"})};
  case Verdict::Reading::kBefore: {
    const std::uint64_t before = j.neighbour->address - j.range_begin;
    return {"; or, as a pointer that counts from 1, ", format_exact_bytes(before), " before ",
            describe_block(*j.neighbour, facts)};
  }
  }
  return {};
}

FindingStack neighbour_stack(const Block& block, const ProcessFacts& facts) {
  FindingStack stack = allocation_stack(block, facts);
  stack.order = StackOrder::kNeighbour;
  return stack;
}

StackRole role_of_use(const Event& e, const Verdict& j) {
  if (j.work != nullptr) return StackRole::kGraphLaunched;
  if (e.kind == EventKind::kCopy) return StackRole::kCopied;
  if (FreedUses::is_argument(e, j)) return StackRole::kLaunched;
  return e.kind == EventKind::kSet ? StackRole::kSet : StackRole::kCalled;
}

} // namespace

bool FreedUses::is_argument(const Event& e, const Verdict& j) {
  return e.kind == EventKind::kLaunch ||
         (j.work != nullptr && j.work->kind == GraphWork::Kind::kKernel);
}

std::uint64_t FreedUses::function_of(const Event& e, const Verdict& j) {
  return j.work != nullptr ? j.work->function : e.launch().function;
}

bool FreedUses::is_whole_parameter(const Event& e, const Verdict& j) const {
  const Kernel* kernel = facts_.kernel(function_of(e, j));
  if (kernel == nullptr || j.parameter >= kernel->parameters.size()) return false;
  return kernel->parameters[j.parameter].bytes == sizeof(std::uint64_t);
}

bool FreedUses::is_number(const Event& e, const Verdict& j) {
  return pointers_.of(function_of(e, j), j.parameter) == Declared::kNumber;
}

Finding FreedUses::finding(const Event& e, const Verdict& j, const Heap& heap) {
  const Block& block = *j.block;
  const std::string_view call = facts_.call_name(e);
  const std::string where =
    j.offset == 0 ? std::string() : cat({format_exact_bytes(j.offset), " into "});
  const bool ended = block.end == Block::End::kContextEnded;
  Finding f;
  f.kind = "use-after-free";
  f.message = {use_of(e, j, call),
               format_address(j.range_begin),
               ", ",
               where,
               "memory that ",
               ended ? "ended with its context"
                     : cat({"was already ", released_word(block.memory_kind)}),
               ": ",
               describe_block(block, facts_),
               other_reading(j, facts_)};
  f.advice = "Free the memory after its last use, or do not use the pointer after the free.";
  if (is_tensor(block) && j.work != nullptr) {
    f.severity = Severity::kWarning;
    f.advice = "Keep the tensor as long as the graph, and copy into it what the graph is to read: "
               "PyTorch's cache has given its memory to another one.";
  } else if (const std::string excuse = excuse_of(e, j, heap); !excuse.empty()) {
    f.severity = Severity::kWarning;
    f.advice += excuse;
  }
  f.bytes = j.range_bytes;
  f.address = j.range_begin;
  f.api = call;
  f.group = cat({j.side == Verdict::Side::kSource ? "source" : "destination",
                 f.severity == Severity::kWarning ? " maybe" : ""});
  f.stacks.push_back(stack_as(role_of_use(e, j), e.stack, call));
  if (j.work != nullptr) {
    f.stacks.push_back(stack_as(j.work->captured ? StackRole::kCaptured : StackRole::kNodeMade,
                                j.work->made, facts_.api_name(j.work->api)));
  }
  if (!is_tensor(block)) // whose end has no call stack
    f.stacks.push_back(stack_as(ended ? StackRole::kContextEnded : release_role(block.memory_kind),
                                block.freed, facts_.api_name(block.freed_api)));
  f.stacks.push_back(allocation_stack(block, facts_));
  if (j.neighbour == nullptr) return f;
  f.stacks.push_back(neighbour_stack(*j.neighbour, facts_));
  if (j.reading == Verdict::Reading::kNone) f.stacks.back().order = StackOrder::kAgain;
  return f;
}

std::string FreedUses::excuse_of(const Event& e, const Verdict& j, const Heap& heap) {
  std::string excuse;
  if (j.reading == Verdict::Reading::kEnd) {
    excuse +=
      " It is no mistake if the kernel takes the pointer for that end and reads nothing there.";
  }
  if (j.reading == Verdict::Reading::kBefore) {
    excuse += " It is no mistake if the kernel counts from 1 and reads nothing before that memory.";
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

// The parameters are counted from 1, as people count.
std::string FreedUses::pass_of(const Event& e, const Verdict& j) {
  const std::string name = demangle(facts_.handle_name(function_of(e, j)));
  const std::string kernel = name.empty() ? "a kernel" : shorten_function(name, kLongestName);
  const std::string does =
    cat({j.work != nullptr ? "The graph that is launched gives " : "The launch of ", kernel,
         j.work != nullptr ? "" : " passes"});
  if (j.parameter >= kNoParameter) return cat({does, " the pointer "});
  return cat({does, " ", is_whole_parameter(e, j) ? "as" : "in", " parameter ",
              std::to_string(j.parameter + 1), is_number(e, j) ? " the number " : " the pointer "});
}

Text FreedUses::use_of(const Event& e, const Verdict& j, std::string_view call) {
  if (is_argument(e, j)) return pass_of(e, j);
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

} // namespace gmt
