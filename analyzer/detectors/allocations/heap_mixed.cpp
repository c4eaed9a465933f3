// SPDX-License-Identifier: Apache-2.0
// heap-mixed: memory of one heap given to the other's functions: a host call (release, copy, set,
// texture, …) on a pointer from a kernel's malloc, or free in a kernel of what the host's API gave
// out. CUDA refuses the former with "invalid value", except cudaMemset, which it accepts silently;
// the latter ends the context with an illegal address, or goes unnoticed (measured on an H200 and
// an H100, driver 580).

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/detectors/shared/device_stacks.h"

namespace gmt {
namespace {

class HeapMixed : public Detector {
public:
  explicit HeapMixed(const ProcessFacts& facts) : facts_(facts) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    const std::uint64_t address = facts_.device_heaps().misused_by(e, heap);
    if (address == 0) return;
    findings.claim_refusal();
    const std::string_view api = facts_.call_name(e);
    const std::string key =
      cat({api, " ", std::to_string(e.stack.value), " ", std::to_string(e.result)});
    const auto [at, is_new] = uses_.try_emplace(key);
    Use& use = at->second;
    ++use.count;
    if (!is_new) return;
    use.kind = e.kind;
    use.stack = e.stack;
    use.result = e.result;
    use.from = e.kind == EventKind::kCopy && address == e.copy().source;
    use.api = api;
    use.address = address;
    use.found = facts_.device_heaps().find(address, e.context, facts_.realtime(e));
    use.range = facts_.ranges().text(facts_.ranges().here());
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    for (const auto& [key, use] : uses_) findings.add(host_call(use, end));
    for (const auto& context : end.device_contexts) {
      std::vector<DeviceMistake> frees = mistakes_of(*context);
      std::ranges::copy(context->heap.undecided(), std::back_inserter(frees));
      for (const DeviceMistake& mistake : frees) {
        if (const Block* block = host_block_of(mistake, heap)) {
          findings.add(device_free(mistake, *block, *context, heap));
        }
      }
    }
  }

private:
  struct Use { // equal host calls, the first one's facts
    EventKind kind = EventKind::kNone;
    StackId stack;
    std::uint16_t result = 0;
    bool from = false; // a copy's source
    std::string api, range;
    std::uint64_t address = 0, count = 0;
    DeviceHeaps::Found found;
  };

  Finding host_call(const Use& use, const EndOfTrace& end) const {
    const DeviceHeaps::Found& found = use.found;
    const DeviceContext* context =
      found.block != nullptr ? end.device_contexts[found.context].get() : nullptr;
    const std::uint64_t offset = found.block != nullptr ? use.address - found.block->address : 0;
    Finding f;
    f.kind = "heap-mixed";
    f.api = use.api;
    f.count = use.count;
    f.address = use.address;
    f.range = use.range;
    f.message = {CallName{use.api},
                 preposition(use),
                 format_address(use.address),
                 ", which is ",
                 offset != 0 ? cat({format_exact_bytes(offset), " inside "}) : "",
                 found.block != nullptr ? describe_block(*found.block, *context)
                                        : "in the device heap",
                 use.result == 0 ? "; CUDA accepted it silently" : "; CUDA refused it"};
    f.advice = advice(use);
    f.stacks.push_back(stack_as(role(use.kind), use.stack, use.api));
    if (found.block != nullptr) {
      f.bytes = found.block->bytes;
      add_device_stack(f, StackRole::kAllocated, found.block->allocated, *context, facts_);
    }
    return f;
  }

  static const char* preposition(const Use& use) {
    if (use.kind != EventKind::kCopy) return " of ";
    return use.from ? " from " : " to ";
  }

  static StackRole role(EventKind kind) {
    switch (kind) {
    case EventKind::kFree: return StackRole::kFreed;
    case EventKind::kCopy: return StackRole::kCopied;
    case EventKind::kSet: return StackRole::kSet;
    default: return StackRole::kUsed;
    }
  }

  static Text advice(const Use& use) {
    switch (use.kind) {
    case EventKind::kFree:
      if (use.found.block == nullptr)
        return "Free it in a kernel, with what fits the allocation (free, delete or delete[]): the "
               "host cannot free memory of the device heap.";
      return {"Free it in a kernel, with ",
              device_call(device_release(use.found.block->allocated.op)),
              ": the host cannot free memory of the device heap."};
    case EventKind::kCopy:
      return "Let a kernel copy it to or from memory of cudaMalloc: the host cannot reach the device heap.";
    case EventKind::kSet:
      return "Let a kernel set it: the host's functions are not made for the device heap.";
    default:
      return "Use memory of cudaMalloc for it: the host's functions are not made for the device heap.";
    }
  }

  Finding device_free(const DeviceMistake& mistake, const Block& block,
                      const DeviceContext& context, const Heap& heap) const {
    const std::string_view api = facts_.api_name(block.api);
    const bool freed = block.end != Block::End::kAlive;
    Finding f;
    f.kind = "heap-mixed";
    f.api = device_call(mistake.at.op);
    f.group = "device";
    f.count = mistake.count;
    f.bytes = block.bytes;
    f.address = mistake.address;
    f.message = {CallName{f.api},
                 " in ",
                 kernel_of(mistake.at, context),
                 " of ",
                 format_address(mistake.address),
                 ", which is ",
                 describe_block(block, facts_),
                 heap.is_dead(context.heap.context()) ? "; the context died"
                                                      : "; CUDA did not notice"};
    f.advice = {"Free it from the host with ", right_release_for(block, api),
                ": only what malloc or new gave a kernel may be freed in one."};
    add_device_stack(f, StackRole::kFreed, mistake.at, context, facts_);
    f.stacks.push_back(allocation_stack(block, facts_));
    if (freed && block.freed) {
      f.stacks.push_back(
        stack_as(StackRole::kFreedByHost, block.freed, facts_.api_name(block.freed_api)));
    }
    return f;
  }

  const ProcessFacts& facts_;
  std::map<std::string, Use> uses_;
};

const DetectorRegistration kHeapMixed{{
  .id = "heap-mixed",
  .severity = Severity::kError,
  .title = "memory of the device heap given to the host's functions, or the reverse",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    if (!facts.device_heaps().any()) return nullptr;
    return std::make_unique<HeapMixed>(facts);
  },
  .wants = wants(EventKind::kFree) | wants(EventKind::kCopy) | wants(EventKind::kSet) |
           wants(EventKind::kUse) | kWantsFailures,
}};

} // namespace
} // namespace gmt
