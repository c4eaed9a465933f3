// SPDX-License-Identifier: Apache-2.0
// Pairs of work on two streams that use the same bytes, one of them writing, and that nothing
// orders. What kernels do with their pointers is read from their code behind the last event, so
// pairs with kernels wait until then. Equal pairs are one finding with a count.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/memory_work.h"

namespace gmt {

class StreamRaces {
public:
  StreamRaces(const ProcessFacts& facts, const StreamClock& clock) : facts_(facts), clock_(clock) {}

  // The two are not ordered, and at least one of them may write. `meeting`: where both are exact.
  void add(const MemoryWork& earlier, const MemoryWork& later, const Block& block,
           const std::optional<Meeting>& meeting = {});
  void leave_out() { ++left_out_; } // a pair that is not compared
  bool empty() const { return candidates_.empty() && left_out_ == 0; }
  std::uint64_t left_out() const { return left_out_; }               // for want of room
  void report(const FindPointerUses& find_uses, Findings& findings); // once

private:
  // The block's allocation, and of both sides, whichever comes first, call, call stack and kernel
  using Key = std::array<std::uint64_t, 7>;
  struct Side {
    MemoryWork work;
    std::string stream; // in words
    std::string kernel; // as linked; empty: it is none, or its name is unknown
  };
  struct Candidate {
    Side earlier, later;
    Text memory; // the block in words
    FindingStack allocated;
    std::uint64_t block_bytes = 0, block_end = 0;
    std::optional<Meeting> meeting = {};
    std::uint64_t count = 1;
  };
  struct Conflict;
  using Uses = std::unordered_map<std::string, PointerUses>; // by kernel

  Uses uses_of_kernels(const FindPointerUses& find_uses) const;
  static Conflict conflict_of(const Candidate& candidate, const Uses& uses);
  void report_unknown(const Uses& uses, Findings& findings) const;
  bool is_of_libraries(const Candidate& candidate) const;
  void report_talks(Findings& findings) const;
  Side side_of(const MemoryWork& work) const;
  Finding describe(const Candidate& candidate, const Conflict& conflict) const;
  static std::string_view verb_of(const MemoryWork& work, bool writes);
  Text words_of(const Side& side) const;

  static constexpr std::size_t kMostCandidates = 4096;

  const ProcessFacts& facts_;
  const StreamClock& clock_;
  std::map<Key, Candidate> candidates_;
  std::uint64_t left_out_ = 0;
};

} // namespace gmt
