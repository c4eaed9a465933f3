// SPDX-License-Identifier: Apache-2.0
// bank-conflict: accesses of shared memory that take several turns (wavefronts) because threads of
// a warp want different words of one bank, by line of the source, from what CUPTI counted for each
// instruction (the mode --coalescing). Shared memory has 32 banks of 4 bytes; n threads on n words
// of one bank take n turns. Threads that read the same word share a turn, and wide accesses take
// more than one by nature: both are in the ideal.

#include <cmath>

#include "analyzer/base/text_format.h"
#include "analyzer/detectors/shared/access_finding.h"

namespace gmt {
namespace {

class BankConflict : public Detector {
public:
  explicit BankConflict(const ProcessFacts& facts) : facts_(facts) {}

  void finish(const EndOfTrace& end, const Heap&, Findings& findings) override {
    const MemoryAccess& access = end.memory_access;
    for (const AccessLine& line : access.shared_lines()) {
      if (line.wasted_in_all() * kWavefrontBytes < access.floor()) break; // the others wasted less
      if (line.wasted != 0 && conflict_ratio(line) >= kNoteRatio)
        findings.add(finding(line, access));
    }
  }

private:
  Finding finding(const AccessLine& line, const MemoryAccess& access) const {
    const AccessFigures figures = shared_figures(line, access);
    const double ways = conflict_ratio(line);
    Finding f = access_finding("bank-conflict", *line.function, *line.worst, figures, advice(line),
                               access.uses(), facts_);
    // As for global memory: little is lost where two threads meet now and then.
    f.severity = ways >= kWarningRatio ? Severity::kWarning : Severity::kNote;
    f.message =
      cat({figures.operation == AccessOperation::kCopy ? "" : "shared memory ",
           describe_accesses(figures), " have ", format_ratio(ways), "-way bank conflicts, ",
           format_ratio(figures.per_request()), " turns a request instead of ",
           format_ratio(figures.per_request() / ways), " (", describe_measured(figures),
           "), which loses ", format_count(line.wasted_in_all()), " turns of ",
           format_exact_bytes(kWavefrontBytes),
           figures.launches > figures.measured ? " in all launches" : "", pattern(line)});
    return f;
  }

  // 4-byte elements d words apart meet in a bank as often as gcd(d, 32) says.
  static std::string pattern(const AccessLine& line) {
    const double ways = conflict_ratio(line);
    const double nearest = std::round(ways);
    const bool is_power =
      nearest == 2 || nearest == 4 || nearest == 8 || nearest == 16 || nearest == 32;
    const bool is_exact = std::abs(ways - nearest) <= 0.02 * nearest;
    if (line.worst->width() != 4 || !is_power || !has_whole_warps(line.sums, 4) || !is_exact)
      return {};
    const std::string odd =
      cat({"an odd multiple of ", std::to_string(static_cast<unsigned>(nearest))});
    return cat({": neighbouring threads are ", nearest == 32 ? "a multiple of 32" : odd,
                " words apart, or meet as often without order"});
  }

  static std::string advice(const AccessLine& line) {
    return conflict_ratio(line) < 31.5
             ? "Let the threads of a warp access neighbouring words, or pad the rows of the array so that "
               "neighbouring threads fall on different banks."
             : "Pad each row by one element, as in __shared__ float tile[32][33], so that a column lies on "
               "all 32 "
               "banks.";
  }

  const ProcessFacts& facts_;
};

const DetectorRegistration kBankConflict{{
  .id = "bank-conflict",
  .severity = Severity::kWarning,
  .title = "shared memory accesses whose threads wait for one another",
  .make = [](const ProcessFacts& facts) -> std::unique_ptr<Detector> {
    return std::make_unique<BankConflict>(facts);
  },
  .wants = kWantsNothing,
  .owner_excuse = {.advice = advice_on_library_kernel},
}};

} // namespace
} // namespace gmt
