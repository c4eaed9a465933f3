// SPDX-License-Identifier: Apache-2.0
// The code of checks. A group's check may say "perhaps" where nothing is wrong, and never "no"
// where something is; it is short. A single check is exact, counts and records the mistake, and
// leaves the access out if it would fault.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptx/flow/origins.h"
#include "rewriter/code.h"
#include "rewriter/memory_instructions.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {

// The module's variables that checks use: numbers in Module::variables().
struct ControlVariables {
  std::uint32_t counts = 0, records = 0, used = 0, table = 0;
};

// The body's name for the parameter kLaunch: a number in Body::variables; none where it has none.
using LaunchName = std::optional<std::uint32_t>;

// A pointer parameter whose block is looked up when the kernel starts.
struct PointerParameter {
  std::uint32_t begin = 0, size = 0;             // registers: the block, or a valid part of it
  std::map<std::uint64_t, std::uint32_t> limits; // by bytes: offsets from here on are no good
};

// An access as its group's check needs it.
struct GroupedAccess {
  MemoryAccess access;
  Guard guard;
  PointerParameter* pointer = nullptr; // null: by the table
};

// A label, and the instruction behind it.
struct Mark {
  std::uint32_t label = 0;
  std::size_t instruction = 0;
};

class Checks {
public:
  Checks(Code& code, const ptx::Body& body, const Options& options, const ControlVariables& control,
         LaunchName launch)
      : code_(code), body_(body), options_(options), control_(control), launch_(launch) {}

  // A predicate: perhaps one of them is a mistake.
  std::uint32_t check_group(std::vector<ptx::Instruction>& into,
                            std::vector<GroupedAccess> accesses);
  // The instruction, with its exact check before it. Adds the labels that stand in that.
  void check_one(std::vector<ptx::Instruction>& into, const ptx::Instruction& instruction,
                 const GroupedAccess& grouped, std::uint32_t site, std::vector<Mark>& marks);
  // Finds the block of a parameter; after all checks, which say what limits are needed.
  void look_up(std::vector<ptx::Instruction>& into, const ptx::Origin& parameter,
               const PointerParameter& pointer);
  PointerParameter new_pointer();

private:
  struct Range; // of accesses from one register, whose values are checked at once
  // The parts of an address, and where the bytes lie in their 512.
  struct Address {
    std::uint32_t whole = 0, low = 0, high = 0;
  };
  // Predicates that say whether there is one and whether it is that, the table's entry, and the
  // block that was meant.
  struct Mistake {
    std::uint32_t any = 0, misaligned = 0, entry = 0;
    ptx::Operand meant;
  };
  using Into = std::vector<ptx::Instruction>;

  struct NamedBlock {
    std::uint32_t begin = 0, end = 0, holds_pointer = 0;
  };

  ptx::Operand table(Into& into);
  ptx::Operand window(Into& into);
  Address split(Into& into, std::uint32_t base, std::int64_t offset);
  std::uint32_t entry(Into& into, const Address& address, std::uint32_t& in_window);
  void check_table(Into& into, const Range& range, const Address& address, std::uint32_t& chain);
  void check_range(Into& into, const Range& range, std::uint32_t& any);
  void check_alignment(Into& into, const Range& range, std::uint32_t low, std::uint32_t& chain);
  void compare(Into& into, std::string_view alone, std::string_view with, std::uint32_t a,
               const ptx::Operand& b, std::uint32_t& chain);
  std::uint32_t no_memory(Into& into, const Address& address);
  std::uint32_t select(Into& into, ptx::Type type, const ptx::Operand& yes, const ptx::Operand& no,
                       std::uint32_t which);
  NamedBlock named_block(Into& into, std::uint32_t pointer, std::uint32_t entry_here,
                         std::uint32_t entry_before);
  // Predicates: outside of the pointer's block, if one is known; a mistake by that or the table.
  struct Outside {
    std::uint32_t block = 0, any = 0;
  };
  Outside outside_block(Into& into, const Address& address, std::uint32_t bytes,
                        const PointerParameter& pointer, std::uint32_t by_table);
  void report(Into& into, const Mistake& mistake, const Address& address, std::uint32_t site,
              std::vector<Mark>& marks);
  // Registers: its address, and which of the site's counters it is of.
  struct RecordAt {
    std::uint32_t at = 0, site = 0, which = 0;
  };
  void write_record(Into& into, const Mistake& mistake, const Address& address,
                    const RecordAt& record);
  void clear_results(Into& into, const ptx::Instruction& instruction, Guard guard);
  std::uint32_t either(Into& into, std::uint32_t a, std::uint32_t b);
  std::uint32_t reg(ptx::Type type) { return code_.new_register(type); }

  Code& code_;
  const ptx::Body& body_;
  const Options& options_;
  const ControlVariables& control_;
  const LaunchName launch_;
};

} // namespace gmt::rewriter
