// SPDX-License-Identifier: Apache-2.0
// How the bits of an instruction's sources become those of its result. It decides which bits of the
// result are known where some bits of the sources are not.
#pragma once

#include <cstdint>

namespace gmt::ptx {

enum class BitFlow : std::uint8_t {
  kAny,     // each bit of the result may depend on each bit of the sources
  kMove,    // a bit of the source is the same bit of the result
  kUnion,   // a bit of the result depends on the same bit of each source
  kAnd,     // the same, but a 0 decides
  kOr,      // the same, but a 1 decides
  kSum,     // carries go upward. Of integers, and where no word asks for the upper half
  kTop,     // a 1 decides if it stands above all bits that are not known. Of unsigned integers
  kSame1,   // the instruction moves bits of its first source; the other sources choose
  kSame12,  // the same with the first two sources
  kConvert, // kSame1 between integers, else kAny
  kParts,   // the results are parts of the source
  kWhole,   // the sources are parts of the result
  kCompare, // predicates that compare the sources
};

} // namespace gmt::ptx
