// SPDX-License-Identifier: Apache-2.0
// Which live blocks a call used, and how.
#pragma once

#include <cstdint>

#include "analyzer/heap/block.h"

namespace gmt {

// A live block that an accepted call used (or allocated, or ended), with the part of it.
struct Access {
  enum class Kind : std::uint8_t { kRead, kWrite, kArgument, kBound, kAllocated, kEnded };
  const Block* block = nullptr; // valid until the next apply()
  Kind kind = Kind::kRead;
  std::uint8_t parameter = kNoParameter; // kArgument: which one
  std::uint64_t address = 0, bytes = 0;  // bytes 0: unknown
};

} // namespace gmt
