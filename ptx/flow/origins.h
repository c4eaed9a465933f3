// SPDX-License-Identifier: Apache-2.0
// From which parameter of a kernel or which variable the value of a register comes, so that an
// address is known to belong to the block of that pointer or to that variable. A value has one
// origin if it is the parameter or the variable's address itself, or that plus or minus something
// that is no pointer. 64 bits of memory may be one, so that a parameter added to these has none; a
// variable's address keeps its own, as no offset to a pointer is the address of a variable. Each
// register has one origin for the whole body: that of all its definitions together.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

enum class OriginKind : std::uint8_t {
  kUnwritten, // nothing ever writes it
  kNumber,    // a constant, or computed of other things than 64-bit parameters: an index
  kLoaded,    // 64 bits of memory, perhaps plus numbers: a pointer or an index
  kParameter, // of one 64-bit parameter, or 64 bits of a larger one
  kVariable,  // the address of one variable, in its space or in the generic one
  kSeveral,   // of several, or in a way that is not followed
};

struct Origin {
  OriginKind kind = OriginKind::kUnwritten;
  std::uint32_t parameter = 0; // of Function::parameters
  std::int64_t offset = 0;     // in its bytes
  std::uint32_t variable = 0;  // of Module::variables()
  bool is_of_body = false;     // of Body::variables instead

  bool operator==(const Origin&) const = default;
};

// For each of Body::registers. A function that is no kernel has no parameters with a known origin.
std::vector<Origin> origins_of(const Function& function, const Body& body);

} // namespace gmt::ptx
