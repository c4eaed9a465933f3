// SPDX-License-Identifier: Apache-2.0
// policy: a rule given by --policy was broken. Each call that breaks a rule is a finding, grouped
// by call stack; of a limit it is the one call that crossed it. A rule about an NVTX name that
// never came up is "not checked".

#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

using Kind = EventKind;
using trace::MemoryKind;
using trace::RangeOp;

// Gives memory out, whatever pool it comes from. Registering, mapping and importing do not.
bool allocates(MemoryKind memory_kind) {
  return is_device_kind(memory_kind) || memory_kind == MemoryKind::kPinned;
}

// Asks the driver for memory that no pool of CUDA's holds.
bool is_direct(MemoryKind memory_kind) {
  return allocates(memory_kind) && memory_kind != MemoryKind::kStreamOrdered &&
         memory_kind != MemoryKind::kGraph;
}

class Policy : public Detector {
public:
  explicit Policy(const ProcessFacts& facts) : facts_(facts) {
    for (const PolicyRule& rule : facts.policies()) rules_.push_back({.rule = rule});
  }

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (!e.succeeded() || e.from_runtime || e.is_nested) return;
    switch (e.kind) {
    case Kind::kRange: on_range(e); break;
    case Kind::kAlloc: on_alloc(e, heap, findings); break;
    default: break;
    }
  }

  void finish(const EndOfTrace&, const Heap& heap, Findings& findings) override {
    for (State& state : rules_) {
      const PolicyRule& rule = state.rule;
      if (!rule.name.empty() && !state.seen) {
        const bool mark = rule.kind == PolicyRule::Kind::kNoDirectMalloc;
        findings.not_checked(
          {.what = "policy",
           .why = cat({"the rule '", rule.text, "': ",
                       mark ? "no NVTX mark of that name was seen"
                            : "no CUDA call was seen inside an NVTX range of that name"}),
           .is_of_run = true});
      }
      if (state.crossed) findings.add(with_total(state, heap));
    }
  }

private:
  struct State {
    PolicyRule rule;
    bool seen = false;    // the range or mark
    bool crossed = false; // the limit, by:
    Finding crossing = {};
  };

  void on_range(const Event& e) {
    const auto op = e.range().op;
    const bool opens = op == RangeOp::kPush || op == RangeOp::kStart;
    if (!opens && op != RangeOp::kMark) return;
    const std::string name = facts_.ranges().name_of(e);
    for (State& state : rules_) {
      const auto wanted = opens ? PolicyRule::Kind::kNoAllocIn : PolicyRule::Kind::kNoDirectMalloc;
      if (state.rule.kind == wanted && Ranges::matches(state.rule.name, name)) state.seen = true;
    }
  }

  void on_alloc(const Event& e, const Heap& heap, Findings& findings) {
    const event::Allocation& alloc = e.allocation();
    const MemoryKind memory_kind = alloc.memory_kind;
    if (alloc.address == 0 || !allocates(memory_kind)) return;
    ++allocations_;
    for (State& state : rules_) {
      const PolicyRule& rule = state.rule;
      switch (rule.kind) {
      case PolicyRule::Kind::kNoDirectMalloc:
        if (is_direct(memory_kind) && (rule.name.empty() || state.seen))
          findings.add(direct(e, rule));
        break;
      case PolicyRule::Kind::kNoAllocIn:
        if (facts_.ranges().contains(facts_.ranges().here(), rule.name))
          findings.add(inside(e, rule));
        break;
      case PolicyRule::Kind::kNoAllocDuringCapture:
        if (is_captured(e, heap)) findings.add(captured(e, rule));
        break;
      case PolicyRule::Kind::kMaxDeviceBytes:
        if (heap.live_device_bytes() > rule.limit) cross(e, state);
        break;
      case PolicyRule::Kind::kMaxAllocations:
        if (allocations_ > rule.limit) cross(e, state);
        break;
      case PolicyRule::Kind::kMaxGrowth:
      case PolicyRule::Kind::kMaxGrowthPerStep: break;
      }
    }
  }

  // By the thread that captures, or on a stream that is captured.
  static bool is_captured(const Event& e, const Heap& heap) {
    return heap.is_capturing(e, e.allocation().stream) ||
           heap.cuda().captures.has_begun_in(e.thread);
  }

  Finding finding(const Event& e, const PolicyRule& rule) const {
    Finding f;
    f.kind = "policy";
    f.bytes = e.allocation().bytes;
    f.address = e.allocation().address;
    f.api = facts_.call_name(e);
    f.group = rule.text;
    f.stacks.push_back(stack_as(StackRole::kAllocated, e.stack, f.api));
    return f;
  }

  Text what(const Event& e) const {
    const event::Allocation& alloc = e.allocation();
    return {CallName{facts_.call_name(e)}, " of ", describe_bytes(alloc.bytes, alloc.memory_kind)};
  }

  Finding direct(const Event& e, const PolicyRule& rule) const {
    Finding f = finding(e, rule);
    f.message = {what(e), " breaks the rule '", rule.text, "': it bypasses the pool"};
    f.advice = rule.name.empty()
                 ? "Take the memory from the pool (cudaMallocAsync, or the program's own)."
                 : "Take the memory from the pool, or allocate it before the mark.";
    return f;
  }

  Finding inside(const Event& e, const PolicyRule& rule) const {
    Finding f = finding(e, rule);
    f.message = {what(e), " breaks the rule '", rule.text, "'"};
    f.advice = "Allocate the memory before the range and use it again each time.";
    return f;
  }

  Finding captured(const Event& e, const PolicyRule& rule) const {
    Finding f = finding(e, rule);
    f.message = {what(e), " breaks the rule '", rule.text, "': a stream was being captured"};
    f.advice = "Allocate the memory before the capture begins.";
    return f;
  }

  // The first call over the limit; how far it went is known at the end.
  void cross(const Event& e, State& state) const {
    if (state.crossed) return;
    state.crossed = true;
    state.crossing = finding(e, state.rule);
    state.crossing.message = what(e);
    state.crossing.range = facts_.ranges().text(facts_.ranges().here());
  }

  Finding with_total(const State& state, const Heap& heap) const {
    Finding f = state.crossing;
    const bool bytes = state.rule.kind == PolicyRule::Kind::kMaxDeviceBytes;
    f.message +=
      bytes ? cat({" crossed the limit of ", format_bytes(state.rule.limit),
                   " of device memory (rule '", state.rule.text, "'); the peak was ",
                   format_bytes(heap.peak_device_bytes())})
            : cat({" crossed the limit of ", format_plural(state.rule.limit, "allocation"),
                   " (rule '", state.rule.text, "'); there were ", format_count(allocations_)});
    f.advice =
      bytes
        ? "See what was alive at the peak, and free or share some of it before."
        : "Use memory again instead of allocating it anew, or take it from a pool in one piece.";
    return f;
  }

  const ProcessFacts& facts_;
  std::vector<State> rules_;
  std::uint64_t allocations_ = 0;
};

const DetectorRegistration kPolicy{{
  .id = "policy",
  .severity = Severity::kError,
  .title = "a rule given by --policy was broken",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    if (facts.policies().empty()) return nullptr;
    return std::make_unique<Policy>(facts);
  },
  .wants = wants(Kind::kAlloc) | wants(Kind::kRange),
}};

} // namespace
} // namespace gmt
