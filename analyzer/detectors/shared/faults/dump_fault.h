// SPDX-License-Identifier: Apache-2.0
// One fault of a GPU's core dump: what its evidence and the heap say together. The instruction is
// certain. Which thread and which address it was is inferred: of the threads that the dump still
// has, those whose address lies in no live memory may have done it; no other is named. Live is what
// was allocated when the kernel was launched: the fault of a store comes late, and the program may
// have freed memory in the meantime. Where no address is left, the blocks that the launch was given
// are listed, freed ones too, without a claim that it was one of them. Where the low half of an
// address is left, it may fit to one of these blocks alone; that block is named as inferred. Live
// memory of another device is a mistake, too, where the kernel's own was given no access to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/detectors/shared/faults/fault_advice.h"
#include "analyzer/detectors/shared/faults/fault_words.h"
#include "analyzer/detectors/shared/faults/given_memory.h"
#include "analyzer/detectors/shared/faults/memory_around.h"
#include "analyzer/heap/heap.h"
#include "analyzer/model/core_dump.h"
#include "analyzer/model/finding.h"

namespace gmt {

class DumpVerdict {
public:
  DumpVerdict(const DumpFault& fault, const Heap& heap, const ProcessFacts& facts);

  std::string_view kind() const; // one of fault_kinds
  Finding finding() const;

private:
  struct Suspect {
    std::uint64_t address = 0;
    Extents block{}, thread{};
  };
  bool is_illegal_address() const;
  bool is_global() const;
  GivenMemory given() const; // to the only candidate, when it was launched
  void find_suspects();
  void find_half_suspect();
  std::optional<std::uint64_t> only_address_near(const GivenMemory& blocks,
                                                 std::uint32_t low) const;
  void weigh(std::uint64_t address, const DumpLanes& run, std::uint32_t i);
  int device() const; // that ran the kernel; -1 unknown, as where two run it
  bool is_out_of_reach(const Block* block) const; // another device's, and no access to it was given
  Text reach_words(const Block& block) const;
  FaultEvidence evidence(std::string_view kind) const;
  Text message() const;
  Text address_words() const;
  std::string thread_words() const;
  void add_launches(Finding& f) const;
  void add_given_blocks(Finding& f) const;

  const DumpFault& fault_;
  const ProcessFacts& facts_;
  const std::vector<LaunchCandidate> launches_; // newest first
  const HeapAt heap_;                           // when the newest of them was launched
  std::uint64_t known_ = 0, bad_ = 0; // threads with an address; those whose address is in no
                                      // memory
  std::optional<Suspect> first_bad_;  // of the lowest address
  bool is_half_ = false; // of its address the low half is left, and the rest was inferred
  MemoryAround around_;  // of the first bad one
  StrayAddress stray_;   // of it, where no memory is around
  // Live memory that a thread uses and the device has no access to; null if there is none
  const Block* unreached_ = nullptr;
};

} // namespace gmt
