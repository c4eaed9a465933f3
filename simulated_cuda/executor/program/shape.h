// SPDX-License-Identifier: Apache-2.0
// What the decoder knows of a form beyond its text: which operands are results and sources, how
// wide each is, which of them decide something (an address, a branch, a mask of lanes), what the
// form does to memory, and how bits of the sources become bits of the result.
#pragma once

#include "ptx/opcodes/bit_flow.h"
#include "ptx/syntax/ptx.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmt::executor {

// How an operand of the instructions "track.*" is stored: four bits each in Instruction::extra,
// that of the result lowest.
enum class TrackedWidth : std::uint8_t { kNone, kPredicate, k1, k2, k4, k8, k16 };

TrackedWidth width_of_bits(std::uint32_t bits);
std::uint32_t bits_of(TrackedWidth width); // 1: a predicate

struct Shape {
  enum class Role : std::uint8_t { kNone, kResult, kSource, kDecides };
  struct Operand {
    Role role = Role::kNone;
    TrackedWidth width = TrackedWidth::kNone;
  };
  enum class Memory : std::uint8_t {
    kNone,
    kLoad,
    kStore,
    kAtomic, // Instruction::extra names the space
    kWait,   // for a barrier in shared memory
    kFrameLoad,
    kFrameStore,
    kUnknown, // what a function of the device itself or a change of a barrier does
  };
  enum class Kind : std::uint8_t {
    kPlain,
    kBranch,
    kCall,
    kSpecialRegister,
    kProduct, // of matrices: Code::products has its operands
    kShuffle,
    kVote, // of predicates
    kBallot,
    kRedux,
  };
  enum class Relation : std::uint8_t { kNone, kEqual, kLess, kLessOrEqual };

  Operand operands[6]; // Instruction::r
  ptx::BitFlow flow = ptx::BitFlow::kAny;
  Memory memory = Memory::kNone;
  Kind kind = Kind::kPlain;
  ptx::Space space = ptx::Space::kNone; // of a load or store
  std::uint8_t element = 0, count = 0;  // of a load or store: bytes, elements; of kParts: parts
  bool is_narrow = false;               // its address has 32 bits
  bool is_inexact = false;              // a GPU may give other bits, or add in another order
  // Of a comparison that is made of values and of what is known of them; kNone: there is none.
  Relation relation = Relation::kNone;
  bool is_swapped = false; // its operands change places
  ptx::Type compared = ptx::Type::kNone;

  // Operands of so many bits, of which 1 is a predicate.
  Shape& result(std::size_t at, std::uint32_t bits);
  Shape& source(std::size_t at, std::uint32_t bits);
  Shape& decides(std::size_t at, std::uint32_t bits);

  static Shape moved(std::uint32_t bits); // from operand 1 to operand 0

  std::size_t count_of(Role role) const;
  bool between_lanes() const { return kind >= Kind::kShuffle; }
};

// `flow` for operands of these types, of an instruction whose words are in `mnemonic`.
ptx::BitFlow flow_of(ptx::BitFlow flow, const std::vector<ptx::Type>& types,
                     const ptx::Mnemonic& mnemonic);

} // namespace gmt::executor
