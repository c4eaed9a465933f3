// SPDX-License-Identifier: Apache-2.0
// What the operands of a decoded instruction are, by its form: which are results and sources, how
// wide each is, which of them decide something (an address, a branch, a mask of lanes), and how a
// result's shadow follows from those of the sources.
#pragma once

#include "simulated_cuda/executor/program/program.h"
#include "simulated_cuda/executor/program/tracking.h"

#include <string>
#include <vector>

namespace gmt::executor {

struct ShapedOperand {
  std::uint32_t at = 0; // in Instruction::r
  TrackedWidth width = TrackedWidth::kNone;
};

struct Shape {
  enum class Rule : std::uint8_t {
    kAny,     // the whole result where a source is not wholly written
    kMove,    // the source's shadow
    kUnion,   // bits that are not written in any source
    kAnd,     // a 0 that is written decides
    kOr,      // a 1 that is written decides
    kSum,     // carries go upward
    kTop,     // a 1 that is written decides if it stands above all bits that are not
    kSame1,   // the instruction itself on the shadow of r[1]; other sources choose
    kSame12,  // the same with r[1] and r[2]
    kParts,   // the instruction itself: r[0] to r[3] are parts of r[4]
    kWhole,   // r[4] is made of r[0] to r[3]
    kCompare, // predicates r[0] and r[1] of r[2] and r[3], joined with r[4]
  };
  enum class Memory : std::uint8_t { kNone, kLoad, kStore, kFrameLoad, kFrameStore };

  Rule rule = Rule::kAny;
  std::vector<ShapedOperand> results, sources, decides;
  std::uint32_t bits = 0; // of the result; 1: a predicate
  Memory memory = Memory::kNone;
  std::uint32_t element = 0, count = 0; // of a load or store: bytes, elements; of kParts: parts
  ptx::Space space = ptx::Space::kNone;
  bool is_narrow = false; // its address has 32 bits
  bool is_call = false, of_lanes = false;
};

TrackedWidth width_of_bits(std::uint32_t bits);
Shape shape_of(const std::string& form, const Instruction& in);
// The form that compares integers by their values and shadows, with a '~' in front if its operands
// change places; empty if the comparison is of other types.
std::string exact_comparison(const std::string& form);

} // namespace gmt::executor
