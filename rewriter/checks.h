// SPDX-License-Identifier: Apache-2.0
// The code of checks. A group's check may say "perhaps" where nothing is wrong, and never "no"
// where something is; it is short. A single check is exact, counts and records the mistake, and
// leaves the access out if it would fault.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptx/flow/origins.h"
#include "rewriter/code.h"
#include "rewriter/declared_arrays.h"
#include "rewriter/memory_instructions.h"
#include "rewriter/rewriter.h"

namespace gmt::rewriter {

// The module's variables that checks use: numbers in Module::variables().
struct ControlVariables {
  std::uint32_t counts = 0, records = 0, used = 0, table = 0;
  std::uint32_t report = 0, check_global = 0, check_array = 0; // in Module::functions()
  std::uint32_t dynamic = ptx::kNone; // kNone: the module has no shared memory
  std::uint32_t shared_state = 0;     // if shared_covered is not 0
  std::uint32_t shared_covered = 0;   // see SharedState
};

// The body's name for the parameter kLaunch: a number in Body::variables; none where it has none.
using LaunchName = std::optional<std::uint32_t>;

// A pointer parameter whose block is looked up when the kernel starts.
struct PointerParameter {
  std::uint32_t begin = 0, size = 0;             // registers: the block, or a valid part of it
  std::uint32_t unwritten = ptx::kNone;          // 0: all of the block is written
  std::map<std::uint64_t, std::uint32_t> limits; // by bytes: offsets from here on are no good
};

// What is to be known of the bytes of an access: whether they are written, or that they are now.
struct WrittenCheck {
  bool is_asked = false, is_marked = false;
  std::uint32_t element_bytes = 4; // of what is asked for
  std::uint32_t elements = 0;      // which of the access, a bit each
  bool in_shared = false;          // memory
  bool may_be_shared = false;      // a generic address that is marked
};

// An access as its group's check needs it.
struct GroupedAccess {
  MemoryAccess access;
  Guard guard;
  PointerParameter* pointer = nullptr; // null: by the table
  ArrayCheck array;
  WrittenCheck written;
  std::uint32_t instruction = 0; // of the body
};

// What kCheckGlobal and kCheckArray know of an access, as kAccesses has it.
struct AccessWords {
  std::int32_t offset = 0; // from the register
  std::uint32_t word = 0;  // its bytes, and flags of exact_calls.h
  std::uint32_t site = 0;
  std::uint32_t array_bytes = 0; // of kCheckArray, where they are known
};

// Which accesses are left out: a bit of a register, set by a call.
struct LeftOut {
  std::uint32_t mask = ptx::kNone, bit = 0;
};

// A label, and the instruction behind it.
struct Mark {
  std::uint32_t label = 0;
  std::size_t instruction = 0;
};

// The text of kReport, a function that counts and records a mistake. `is_placed`: kTable is there.
std::string report_function(std::uint32_t most_records, bool is_placed);
// Those of kCheckGlobal and kCheckArray.
std::string global_check_function(const Options& options, bool knows_block);
std::string array_check_function();

class Checks {
public:
  Checks(Code& code, const ptx::Body& body, const Options& options, const ControlVariables& control,
         LaunchName launch)
      : code_(code), body_(body), options_(options), control_(control), launch_(launch) {}

  // A predicate: perhaps one of them is a mistake. Adds the labels that stand in the code.
  std::uint32_t check_group(std::vector<ptx::Instruction>& into,
                            std::vector<GroupedAccess> accesses, std::vector<Mark>& marks);
  // The guard under which an access has all of its bytes, where its size is in a register.
  Guard whole_access(std::vector<ptx::Instruction>& into, const GroupedAccess& grouped);
  // The instruction, with its exact check before it. Adds the labels that stand in that.
  void check_one(std::vector<ptx::Instruction>& into, const ptx::Instruction& instruction,
                 const GroupedAccess& grouped, std::uint32_t site, std::vector<Mark>& marks);
  // Exact checks of a group's accesses by calls, which set the bits that `left_out` gets for each
  // instruction, unless it is null. `site_of` gives the site of an instruction, `words` gets what
  // the functions know.
  void call_checks(std::vector<ptx::Instruction>& into, std::vector<GroupedAccess> accesses,
                   const std::map<std::uint32_t, std::uint32_t>& site_of,
                   std::vector<AccessWords>& words, std::map<std::uint32_t, LeftOut>* left_out,
                   std::vector<Mark>& marks);
  // The instruction, if its bit is not set, with its check of written bytes before it.
  void make_one(std::vector<ptx::Instruction>& into, const ptx::Instruction& instruction,
                const GroupedAccess& grouped, std::uint32_t site, const LeftOut& left_out,
                std::vector<Mark>& marks);
  // Before an access that stores; nothing for others.
  void mark_written(std::vector<ptx::Instruction>& into, const GroupedAccess& grouped);
  // At a kernel's begin: nothing in shared memory is written. Adds the labels that stand there.
  void clear_shared_state(std::vector<ptx::Instruction>& into, std::vector<Mark>& marks);
  // Before a call of __assertfail, with its arguments still to be stored.
  void report_assert(std::vector<ptx::Instruction>& into, std::uint32_t site);
  // Finds the block of a parameter; after all checks, which say what limits are needed.
  void look_up(std::vector<ptx::Instruction>& into, const ptx::Origin& parameter,
               const PointerParameter& pointer);
  // The sizes of shared memory that the launch says; after all checks.
  void look_up_shared(std::vector<ptx::Instruction>& into);
  PointerParameter new_pointer();

private:
  // Of accesses from one register, whose values are checked at once.
  struct Range {
    GroupedAccess first;
    std::int64_t begin = 0, end = 0; // offsets from the register
    std::vector<GroupedAccess> accesses;

    std::int64_t bytes() const { return end - begin; }
  };
  // The parts of an address, and where the bytes lie in their 512.
  struct Address {
    std::uint32_t whole = 0, low = 0, high = 0;
  };
  // What the record of a mistake gets.
  struct Details {
    Address address;
    ptx::Operand entry; // a register or a number
    ptx::Operand meant;
    // A RecordSpace, by 16 bits further up; of global memory the access's bytes, by 24
    ptx::Operand space;
    std::uint32_t left_out = 0; // a predicate: the access would fault
  };
  using Into = std::vector<ptx::Instruction>;

  static std::vector<Range> ranges_of(std::vector<GroupedAccess> accesses);
  void pass(Into& into, std::int64_t part, bool is_wide, const ptx::Operand& value);
  void pass_global(Into& into, const GroupedAccess& first);
  void pass_small(Into& into, const GroupedAccess& first);
  void pass_block_end(Into& into, const Range& range);
  void call_check(Into& into, const Range& range, std::uint32_t first_word, std::uint32_t mask,
                  std::vector<Mark>& marks);

  struct NamedBlock {
    std::uint32_t begin = 0, end = 0, holds_pointer = 0;
    std::uint32_t written = ptx::kNone; // 1: all of it is
  };

  ptx::Operand table(Into& into);
  ptx::Operand shift(Into& into);
  Address split(Into& into, std::uint32_t base, std::int64_t offset);
  std::uint32_t entry_at(Into& into, const Address& address, std::uint32_t upper);
  std::uint32_t likely_entry(Into& into, const Address& address, std::uint32_t& in_window);
  std::uint32_t entry(Into& into, const Address& address, std::uint32_t& in_window);
  void check_table(Into& into, const Range& range, const Address& address, std::uint32_t& chain);
  void check_range(Into& into, const Range& range, std::uint32_t& any);
  void check_table_or_pointer(Into& into, const Range& range, std::uint32_t& chain);
  void check_array(Into& into, const Range& range, std::uint32_t& chain);
  void check_variable(Into& into, const Range& range, std::uint32_t& chain);
  void check_block(Into& into, const Range& range, std::uint32_t& chain);
  void check_alignment(Into& into, const Range& range, std::uint32_t low, std::uint32_t& chain);
  // ---- of bytes that are written
  std::uint32_t page_of(Into& into, const Address& address, bool is_exact);
  std::uint32_t word_state(Into& into, const Address& address, std::uint32_t page,
                           std::uint32_t words);
  std::uint32_t add_written(Into& into, const std::vector<Range>& ranges, std::uint32_t any,
                            std::vector<Mark>& marks);
  void add_written(Into& into, const Range& range, std::uint32_t& any);
  void check_written(Into& into, const Range& range, std::uint32_t& chain);
  void compare_words(Into& into, const GroupedAccess& access, std::uint32_t at, std::int64_t offset,
                     std::uint32_t& chain);
  std::uint32_t shared_low(Into& into, const MemoryAccess& access);
  std::uint32_t shared_word(Into& into, const GroupedAccess& access);
  void mark_shared(Into& into, const GroupedAccess& grouped);
  std::uint32_t unwritten(Into& into, const GroupedAccess& grouped, const Address& address);
  void check_one_written(Into& into, const GroupedAccess& grouped, std::uint32_t mistake,
                         std::uint32_t site, std::vector<Mark>& marks);
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
  // One access: predicates that say whether it is a mistake, and what is known of it then. What
  // only a mistake needs is computed behind the branch that leads there.
  struct Decision {
    std::uint32_t bad = ptx::kNone, misaligned = ptx::kNone; // kNone: never
    Address address;                                         // of global memory
    std::uint32_t entry = 0, none = 0, outside = ptx::kNone; // by the table
    std::uint32_t at = 0, begin = 0;                         // of shared and local memory, 32 bits
    std::uint32_t in_shared = ptx::kNone;                    // of a generic address
  };
  Decision decide_by_table(Into& into, const GroupedAccess& grouped);
  void decide_by_block(Into& into, const GroupedAccess& grouped, Decision& decision);
  Decision decide_in_array(Into& into, const GroupedAccess& grouped);
  Decision decide_in_variable(Into& into, const GroupedAccess& grouped);
  Decision decide_in_block(Into& into, const GroupedAccess& grouped);
  Details details_by_table(Into& into, const GroupedAccess& grouped, const Decision& decision);
  void details_by_block(Into& into, const Decision& decision, Details& details);
  Details details_in_variable(Into& into, const GroupedAccess& grouped, const Decision& decision);
  Details details_in_array(Into& into, const GroupedAccess& grouped, const Decision& decision);
  Details details_in_block(Into& into, const Decision& decision);
  // Addresses in shared and local memory, of 32 bits.
  std::uint32_t narrow(Into& into, std::uint32_t address);
  Address widen(Into& into, std::uint32_t address);
  std::uint32_t small_address(Into& into, const MemoryAccess& access, std::int64_t offset);
  std::uint32_t array_begin(Into& into, const DeclaredArray& array, bool is_generic);
  std::uint32_t array_bytes(Into& into, const DeclaredArray& array);
  std::uint32_t block_end(Into& into);
  std::uint32_t shared_address(Into& into, std::uint32_t generic);
  std::uint32_t misaligned_by(Into& into, std::uint32_t low, std::uint32_t bytes);
  ptx::Operand limit_for(std::map<std::uint64_t, std::uint32_t>& limits, std::int64_t bytes);
  std::uint32_t combine(Into& into, std::string_view mnemonic, std::uint32_t a, std::uint32_t b);
  std::uint32_t negate(Into& into, std::uint32_t a);
  void report(Into& into, const Details& details, std::uint32_t misaligned, std::uint32_t site);
  void clear_results(Into& into, const ptx::Instruction& instruction, Guard guard = {});
  std::uint32_t either(Into& into, std::uint32_t a, std::uint32_t b);
  std::uint32_t reg(ptx::Type type) { return code_.new_register(type); }

  Code& code_;
  const ptx::Body& body_;
  const Options& options_;
  const ControlVariables& control_;
  const LaunchName launch_;
  std::uint32_t report_argument_ = ptx::kNone; // in Body::variables
  std::uint32_t check_argument_ = ptx::kNone, check_result_ = ptx::kNone;
  // By bytes of a range, registers: from where on it does not lie in a dynamic array, by offset, or
  // in the block's shared memory, by address
  std::map<std::uint64_t, std::uint32_t> dynamic_limits_, block_limits_;
};

} // namespace gmt::rewriter
