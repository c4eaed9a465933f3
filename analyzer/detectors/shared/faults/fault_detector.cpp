// SPDX-License-Identifier: Apache-2.0
#include "analyzer/detectors/shared/faults/fault_detector.h"

#include <csignal>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/device_stacks.h"
#include "analyzer/detectors/shared/faults/dump_fault.h"
#include "analyzer/detectors/shared/faults/recent_arguments.h"
#include "analyzer/detectors/shared/faults/recorded_evidence.h"
#include "analyzer/detectors/shared/faults/recorded_fault.h"
#include "ptx/names/checked_form.h"

namespace gmt {
namespace {

bool is_about_device_heap(const Event& e) {
  const event::Fault& fault = e.fault();
  return fault.neighbour_bytes != 0 && fault.neighbour_space == trace::FaultSpace::kUnknown;
}

// A habit of libcudadevrt, whose kernels do the copies of programs' kernels: nothing that the
// program could mend.
bool is_habit_of_device_runtime(const Event& e, const ProcessFacts& facts) {
  return is_barrier_of_rest(e, facts.text(e.fault().message)) &&
         facts.text(e.fault().kernel).find("_cuda_device_runtime_cu_") != std::string_view::npos;
}

class FaultDetector : public Detector {
public:
  FaultDetector(const ProcessFacts& facts, std::string_view kind)
      : facts_(facts), kind_(kind), has_records_(facts.simulated() || facts.has_kernel_checks()) {}

  void on_event(const Event& e, std::span<const Verdict>, const Heap& heap,
                Findings& findings) override {
    if (e.kind == EventKind::kLaunch) {
      if (!has_records_) return watch(wants() & ~gmt::wants(EventKind::kLaunch));
      if (e.succeeded()) arguments_.remember(e);
    }
    if (e.kind != EventKind::kFault || is_habit_of_device_runtime(e, facts_)) return;
    if (e.fault().is_checked) seen_by_device_.erase(line_of(e));
    Finding f = finding_of(e, heap, facts_, arguments_.of(e.fault().call));
    if (f.kind != kind_) return;
    if (is_in_checked_code(e)) hold_until_checked(e, std::move(f));
    else if (is_about_device_heap(e) || is_null_access(e)) hold(e, std::move(f));
    else findings.add(std::move(f));
  }

  void finish(const EndOfTrace& end, const Heap& heap, Findings& findings) override {
    for (auto& [line, seen] : seen_by_device_) {
      for (Finding& f : seen) findings.add(std::move(f));
    }
    const bool aborted = end.ending.how == Ending::How::kSignalled && end.ending.signal == SIGABRT;
    for (auto& [key, held] : held_) {
      add_heap_stacks(held, end);
      blame_null(held, end);
      findings.add(std::move(held.finding));
    }
    for (const CoreDump& dump : facts_.core_dumps()) {
      for (const DumpFault& fault : dump.faults) {
        const DumpVerdict verdict(fault, heap, facts_);
        if (verdict.kind() != kind_) continue;
        Finding f = verdict.finding();
        if (aborted)
          f.advice +=
            " The driver ended the program with SIGABRT (status 134) behind the core dump; "
            "without one, CUDA returns an error.";
        findings.add(std::move(f));
      }
    }
  }

private:
  using LaunchLine = std::pair<std::uint64_t, std::string>; // of the source

  // An assert ends its launch. Without optimisation the call that the code sees leads to another.
  LaunchLine line_of(const Event& e) const {
    if (e.fault().fault == trace::FaultKind::kAssert) return {e.fault().call, {}};
    return {e.fault().call, source_words(parse_lines(facts_.text(e.fault().lines)), {})};
  }
  bool is_in_checked_code(const Event& e) const {
    const event::Fault& fault = e.fault();
    const std::string_view function = facts_.text(fault.function);
    const bool is_found_by_code =
      fault.access != trace::FaultAccess::kUnknown || fault.fault == trace::FaultKind::kAssert;
    return !fault.is_checked && is_found_by_code &&
           ptx::is_checked_form(function.empty() ? facts_.text(fault.kernel) : function);
  }

  // The simulated device sees a mistake in checked code, too, where that makes the access, and says
  // it first: the code says it behind the launch. What the code misses is reported at the end.
  void hold_until_checked(const Event& e, Finding finding) {
    finding.range = facts_.ranges().text(facts_.ranges().here());
    seen_by_device_[line_of(e)].push_back(std::move(finding));
  }

  struct Held { // until the launches are known that allocated and freed
    Finding finding;
    DeviceHeaps::Found found;
    bool is_freed = false; // when it was accessed
    // Of a null pointer: of which grid
    std::uint64_t null_grid = 0;
    std::uint16_t context = 0;
  };

  // malloc() of the same grid had no memory: that is the mistake, and this its consequence.
  void blame_null(Held& held, const EndOfTrace& end) const {
    if (held.null_grid == 0) return;
    const auto refusal = refusal_in(end.device_contexts, held.context, held.null_grid);
    if (!refusal) return;
    const std::string source = source_of(refusal->first, *refusal->context);
    held.finding.severity = Severity::kNote;
    held.finding.message +=
      {"; ", CallName{device_call(refusal->first.op)},
       source.empty() ? std::string(" of this launch") : cat({" at ", source}),
       " had given this launch NULL"};
    held.finding.advice = "Correct what device-heap-exhausted reports: this is its consequence.";
  }

  void hold(const Event& e, Finding finding) {
    std::string key = finding.group;
    for (const FindingStack& stack : finding.stacks)
      key += cat({" ", std::to_string(stack.stack.value)});
    const auto [at, is_new] = held_.try_emplace(std::move(key));
    if (!is_new) {
      at->second.finding.count += finding.count;
      return;
    }
    finding.range = facts_.ranges().text(facts_.ranges().here());
    at->second.finding = std::move(finding);
    at->second.is_freed = e.fault().is_neighbour_freed;
    if (is_null_access(e)) {
      at->second.null_grid = e.fault().grid_id;
      at->second.context = e.context;
      return;
    }
    at->second.found =
      facts_.device_heaps().find(e.fault().neighbour, e.context, facts_.realtime(e));
  }

  void add_heap_stacks(Held& held, const EndOfTrace& end) const {
    const DeviceBlock* block = held.found.block;
    if (block == nullptr) return;
    const DeviceContext& context = *end.device_contexts[held.found.context];
    if (block->is_freed && held.is_freed)
      add_device_stack(held.finding, StackRole::kFreed, block->freed, context, facts_);
    add_device_stack(held.finding, StackRole::kAllocated, block->allocated, context, facts_);
  }

  const ProcessFacts& facts_;
  std::string_view kind_;
  bool has_records_; // of faults may come: of no other run are arguments of use
  RecentArguments arguments_;
  std::map<std::string, Held> held_;
  std::map<LaunchLine, std::vector<Finding>> seen_by_device_; // in checked code
};

} // namespace

std::unique_ptr<Detector> make_fault_detector(const ProcessFacts& facts, std::string_view kind) {
  return std::make_unique<FaultDetector>(facts, kind);
}

} // namespace gmt
