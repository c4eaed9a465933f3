// SPDX-License-Identifier: Apache-2.0
// uncoalesced: loads, stores and atomics of global memory that take more sectors of 32 bytes than
// their threads' data would fill, by line of the source, from what CUPTI counted for each
// instruction (the mode
// --coalescing). A note from 1.25 times the ideal, a warning above twice; silent below a floor of
// wasted bytes. Broadcasts stay below the ideal, and warps with threads that sit out are checked by
// what a whole one would take (access_cause.h).

#include <cmath>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/access_finding.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {
namespace {

class Uncoalesced : public Detector {
public:
  explicit Uncoalesced(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    const MemoryAccess& access = end.memory_access;
    for (const AccessLine& line : access.global_lines()) {
      if (line.wasted_in_all() * kSectorBytes < access.floor()) break; // the others wasted less
      if (line.wasted != 0 && severity_ratio(line) >= kNoteRatio)
        findings.add(finding(line, access));
    }
  }

private:
  Finding finding(const AccessLine& line, const MemoryAccess& access) const {
    const CauseFound cause = cause_of(line, access);
    AccessFigures figures = global_figures(line, access);
    Finding f =
      access_finding("uncoalesced", *line.function, *line.worst, figures,
                     std::string(advice_for(cause, is_atomic(line))), access.uses(), facts_);
    f.severity = severity_ratio(line) > kWarningRatio ? Severity::kWarning : Severity::kNote;
    f.message =
      cat({describe_accesses(figures), " move ", format_ratio(figures.ratio()),
           " times the sectors that their data fills, ", format_ratio(figures.per_request()),
           " a request instead of ", ideal(figures), " (", describe_measured(figures),
           "), which wastes ", format_bytes(figures.wasted_bytes),
           figures.launches > figures.measured ? " in all launches, " : ", ", share(figures),
           " of what the run's kernels moved"});
    if (const std::string why = describe(cause); !why.empty())
      f.message += cat({": ", why, mixed(line)});
    add_memory(f, *line.function, cause, access.uses());
    return f;
  }

  static std::string ideal(const AccessFigures& f) {
    return format_ratio(f.ratio() == 0 ? 0 : f.per_request() / f.ratio());
  }

  static std::string share(const AccessFigures& f) {
    const double percent = 100 * f.share;
    if (percent < 1) return "less than 1 %";
    return cat({std::to_string(std::lround(std::min(percent, 100.0))), " %"});
  }

  // The cause is that of the instruction that wastes most; others of the line may do better.
  static std::string mixed(const AccessLine& line) {
    std::size_t good = 0;
    for (const MeasuredInstruction* member : line.members)
      good += member->wasted_sectors() == 0 ? 1 : 0;
    if (good == 0) return {};
    return cat({" (", std::to_string(line.members.size() - good), " of ",
                std::to_string(line.members.size()), " such instructions of the line)"});
  }

  // Names the allocation where the kernel was given no other, and what of it explains a misaligned
  // access.
  void add_memory(Finding& f, const MeasuredFunction& function, const CauseFound& cause,
                  const KernelUses& uses) const {
    const KernelUse* use = uses.find(function.linked);
    if (use == nullptr || !use->memory) return;
    const Block& memory = *use->memory;
    f.address = memory.address;
    f.message += {"; the kernel was given no other memory than ", describe_block(memory, facts_)};
    if (cause.cause == AccessCause::kMisaligned && use->argument_off != 0) {
      f.message +=
        cat({", by a pointer ", format_exact_bytes(use->argument_off), " behind a multiple of 32"});
    } else if (const std::uint64_t pitch = uses.odd_pitch(memory);
               pitch != 0 && may_be_rows(cause)) {
      f.message +=
        cat({", whose rows are ", format_exact_bytes(pitch), " apart, no multiple of 32"});
    }
    f.stacks.push_back(allocation_stack(memory, facts_));
  }

  static bool may_be_rows(const CauseFound& c) {
    return c.cause == AccessCause::kMisaligned || c.cause == AccessCause::kScattered;
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kUncoalesced{{
  .id = "uncoalesced",
  .severity = Severity::kWarning,
  .title = "global memory accesses that move more than their threads use",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<Uncoalesced>(facts);
  },
  .wants = kWantsNothing,
  .owner_excuse = {.advice = advice_on_library_kernel},
}};

} // namespace
} // namespace gmt
