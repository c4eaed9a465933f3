// SPDX-License-Identifier: Apache-2.0
// local-spill: what a kernel keeps in local memory, which is device memory behind the caches:
// registers that were spilled, arrays that are indexed at run time, large arguments of calls. By
// function, from what CUPTI counted for each instruction (the mode --coalescing); the costliest
// line is shown. Silent below the floor.

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/access_finding.h"

namespace gmt {
namespace {

class LocalSpill : public Detector {
public:
  explicit LocalSpill(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    const MemoryAccess& access = end.memory_access;
    for (const MeasuredFunction& function : access.functions()) check(function, access, findings);
  }

private:
  void check(const MeasuredFunction& function, const MemoryAccess& access,
             Findings& findings) const {
    const MeasuredInstruction* worst = nullptr;
    AccessFigures figures;
    std::uint64_t instructions = 0;
    for (const MeasuredInstruction& instruction : function.instructions) {
      const AccessCounts& sums = instruction.sums;
      if (sums.local_sectors == 0) continue;
      ++instructions;
      figures.actual += sums.local_sectors;
      figures.executions += sums.executions;
      figures.thread_executions += sums.thread_executions;
      if (worst == nullptr || sums.local_sectors > worst->sums.local_sectors) worst = &instruction;
    }
    figures.wasted_bytes = function.scaled(figures.actual) * kSectorBytes;
    if (worst == nullptr || figures.wasted_bytes < access.floor()) return;
    figures.memory = AccessedMemory::kLocal;
    figures.kernel = function.name;
    figures.is_kernel = function.is_kernel();
    figures.offset = worst->offset;
    figures.launches = function.launches;
    figures.measured = function.measured;
    if (worst->code != nullptr && !worst->code->lines.empty()) {
      figures.function = worst->code->lines.front().function;
      figures.file = worst->code->lines.front().file;
      figures.line = worst->code->lines.front().line;
    }
    Finding f = access_finding(
      "local-spill", function, *worst, figures,
      "Allow more registers (-maxrregcount, __launch_bounds__) or keep fewer values alive at once, and index "
      "local arrays by constants, as in unrolled loops.",
      access.uses(), facts_);
    f.severity = Severity::kNote;
    f.message = cat({describe_kernel(figures), " moved ", format_bytes(figures.wasted_bytes),
                     " to and from local memory",
                     figures.launches > figures.measured ? " in all launches (" : " (",
                     format_count(figures.actual), " sectors by ",
                     format_plural(instructions, "instruction"), ", ", describe_measured(figures),
                     "): spilled registers, or arrays that are indexed at run time"});
    findings.add(std::move(f));
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kLocalSpill{{
  .id = "local-spill",
  .severity = Severity::kNote,
  .title = "registers or arrays of a kernel that went to memory",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<LocalSpill>(facts);
  },
  .wants = kWantsNothing,
  .owner_excuse = {.advice = advice_on_library_kernel},
}};

} // namespace
} // namespace gmt
